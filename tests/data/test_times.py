"""Times that a split sorts by: read in a stated format, or refused."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from discreet.data.times import read_moments
from discreet.errors import RatingsInvalid, SettingsInvalid


@pytest.mark.parametrize(
    ("values", "time_format"),
    [
        ([3, 10, 200], None),
        (["3", "10", "200"], None),
        (["3.5", "10.25", "2e2"], None),
        (["1700000000000000001", "1700000000000000002", "1700000000000000003"], None),
        (["1969-12-31", "2024-05-01T10:00:00", "2024-05-01 10:00:00.5"], None),
        (["2024-05-01T12:00:00+05:00", "2024-05-01T10:00:00Z", "2024-05-01T06:00:00-05:00"], None),
        (["31.12.2019", "01.02.2020", "15.01.2021"], "%d.%m.%Y"),
        (["12/31/2019", "2/1/2020", "1/15/2021"], "%m/%d/%Y"),
        ([date(2019, 12, 31), date(2020, 2, 1), date(2021, 1, 15)], None),
    ],
)
def test_what_came_later_is_larger(values: list[object], time_format: str | None) -> None:
    read = read_moments(pl.Series(values, strict=False), time_format)
    assert read.is_sorted()
    assert read.n_unique() == 3
    mixed = read_moments(pl.Series([values[0], None, *values[1:]], strict=False), time_format)
    assert mixed.null_count() == 1
    assert mixed.drop_nulls().to_list() == read.to_list()


@pytest.mark.parametrize(
    ("values", "time_format", "message"),
    [
        (
            ["2020-01-01", "31.12.2019"],
            None,
            r"row 2: the time '31.12.2019' is neither a number nor ISO 8601.*--time",
        ),
        (["1", "2020-01-01"], None, "row 1: the time '1'"),
        (["1", "inf"], None, "neither a number"),
        (["01.02.2020", "2020-02-01"], "%d.%m.%Y", r"row 2: .* is not written as %d.%m.%Y"),
        ([True, False], None, "Boolean, not times"),
    ],
)
def test_what_cannot_be_read_is_refused(values: list[object], time_format: str | None, message: str) -> None:
    with pytest.raises(RatingsInvalid, match=message):
        read_moments(pl.Series(values), time_format)


def test_a_format_of_numbers_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match="time-format is for texts"):
        read_moments(pl.Series([1, 2]), "%Y")
