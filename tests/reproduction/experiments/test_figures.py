"""The experiments that need no private method: run small, look at what they say, and make them say no."""

from __future__ import annotations

from itertools import pairwise

import pytest

from discreet.methods.published.public.dpals_noise import PRESETS
from reproduction import Context, Dataset
from reproduction.experiments import figure_02, table_02, table_04


@pytest.fixture(scope="module")
def market() -> Dataset:
    return Context("quick").market(quick_users=1_000)


def test_sampling_is_as_skewed_as_the_paper_says(market: Dataset) -> None:
    curves = figure_02.shares(market, seed=1, draws=2)
    for values in curves.values():
        assert values[-1].mean == pytest.approx(1.0)
        assert all(later.mean >= earlier.mean for earlier, later in pairwise(values))
    assert curves["original"][9].spread == 0.0 < curves["adaptive"][9].spread
    head = {kind: values[figure_02.FRACTIONS.index(0.2)].mean for kind, values in curves.items()}
    assert head["adaptive"] < head["original"] < head["uniform"]
    assert [finding.agrees for finding in figure_02.judge(market, head)] == [True, True]


def test_table_2_compares_only_what_is_the_same(market: Dataset) -> None:
    assert [finding.agrees for finding in table_02.judge({})] == [None, None, None]
    other = Dataset("ml-10m", "ml-10m", "MovieLens 10M", market.ratings, "")
    assert [finding.agrees for finding in table_02.judge({"ML-10M": other})] == [None, False, None]


def test_table_4_counts_as_worked_out_by_hand() -> None:
    rows = {name: table_04.account(preset) for name, preset in PRESETS.items()}
    first = rows["ml-10m-eps-1"]
    assert first["theorem 1"] == pytest.approx(0.625, abs=5e-4)
    assert first["owed, Rényi"] == pytest.approx(1.115, abs=5e-4)
    assert first["owed, exact"] == pytest.approx(0.833, abs=5e-4)
    for epsilon, counted in ((1, 1.001), (5, 5.008), (10, 10.041), (20, 19.824)):
        assert rows[f"ml-10m-eps-{epsilon}"]["as in the paper"] == pytest.approx(counted, abs=5e-4)
    assert [finding.agrees for finding in table_04.judge(list(rows.values()))] == [False] * 4
