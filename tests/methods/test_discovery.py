"""A catalogue from the ratings: whose votes count for what follows from nobody else's items."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet import Budget, Ratings
from discreet.methods.discovery import discover_catalogue
from discreet.privacy import Gate, Ledger
from discreet.privacy.gaussian.blocks import Pattern
from discreet.privacy.gaussian.discovery import MOST_ITEMS, _voted
from discreet.privacy.gaussian.item_blocks import ItemWeight


def votes(frame: pl.DataFrame, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The exact sum of votes of every item in the release, before noise; from a file, as ids are numbers if all are."""
    seen: list[np.ndarray] = []
    total = ItemWeight.total

    def watched(self: ItemWeight) -> np.ndarray:
        seen.append(total(self) / self.unit)
        return total(self)

    def told(pattern: Pattern) -> tuple[Pattern, np.ndarray]:
        seen.append(_voted(pattern)[1])
        return _voted(pattern)

    frame.write_csv(folder / "ratings.csv")
    ratings = Ratings.from_csv(folder / "ratings.csv", user="u", item="i")
    assert ratings.provisional_ids is not None
    with monkeypatch.context() as patch:
        patch.setattr(ItemWeight, "total", watched)
        patch.setattr("discreet.privacy.gaussian.discovery._voted", told)
        discover_catalogue(Gate(Ledger(Budget(50.0, 1e-3))), ratings, 0.5)
    items, sums = seen
    return dict(zip(map(str, ratings.provisional_ids[items]), sums.tolist(), strict=True))


@pytest.mark.parametrize("extra", [["-1", "0"], ["5", "weird"], ["5", "00"]])
def test_one_users_ids_do_not_change_what_others_vote_for(
    extra: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An id in front of all others, or one that makes all ids text, moves every place in the list of items."""
    heavy = pl.DataFrame({"u": np.repeat(np.arange(40), 1500), "i": np.tile(np.arange(1500), 40).astype(str)})
    more = pl.concat([heavy, pl.DataFrame({"u": [99] * len(extra), "i": extra}, schema=heavy.schema)])
    before, after = (votes(frame, tmp_path, monkeypatch) for frame in (heavy, more))
    assert sum(vote > 0.0 for vote in before.values()) == MOST_ITEMS
    for item, vote in before.items():
        assert (after[item] > vote) if item in extra else (after[item] == vote), item
    assert set(after) - set(before) <= set(extra)


def test_an_id_that_was_not_chosen_does_not_show_in_the_others(tmp_path: Path) -> None:
    """One user's odd id makes all ids text where they are read; those that are chosen are numbers all the same."""
    rows = {"u": np.repeat(np.arange(400), 3), "i": np.tile(["1", "2", "3"], 400)}
    odd = {"u": [*rows["u"], 999], "i": [*rows["i"], "weird"]}
    for table in (rows, odd):
        pl.DataFrame(table).write_csv(tmp_path / "ratings.csv")
        ratings = Ratings.from_csv(tmp_path / "ratings.csv", user="u", item="i")
        found = discover_catalogue(Gate(Ledger(Budget(50.0, 1e-3))), ratings, 0.5)
        assert found.catalogue is not None
        assert found.catalogue.ids.tolist() == [1, 2, 3]
