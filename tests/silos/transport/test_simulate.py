"""How the rows of one file become silos: every row in exactly one of them, or a refusal."""

from __future__ import annotations

import polars as pl
import pytest

from discreet.errors import RatingsInvalid
from discreet.silos.transport.simulate import split_by_column, split_users


def test_every_row_joins_one_silo() -> None:
    frame = pl.DataFrame({"user": [1, 2, 1, 3, 4, 2], "item": list("abcdef")})
    parts = split_users(frame, "user", 3, 0)
    assert list(parts) == ["silo-1", "silo-2", "silo-3"]
    assert sorted(item for part in parts.values() for item in part["item"]) == list("abcdef")
    homes = [set(part["user"]) for part in parts.values()]
    assert sum(map(len, homes)) == 4


def test_a_row_without_a_user_is_not_lost_on_the_way() -> None:
    frame = pl.DataFrame({"user": ["x", None, "y", None], "item": list("abcd")})
    parts = split_users(frame, "user", 2, 0)
    assert sorted(item for part in parts.values() for item in part["item"]) == list("abcd")


def test_a_row_without_a_silo_is_refused() -> None:
    frame = pl.DataFrame({"user": [1, 2], "silo": ["north", None]})
    with pytest.raises(RatingsInvalid, match="names no silo in 1 rows"):
        split_by_column(frame, "silo")
