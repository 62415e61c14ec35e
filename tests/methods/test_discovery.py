"""A catalogue from the ratings: whose votes count for what follows from nobody else's items."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet import Budget, Ratings
from discreet.methods.discovery import discover_catalogue
from discreet.privacy import Gate, Ledger
from discreet.privacy.gaussian.blocks import ItemWeight
from discreet.privacy.gaussian.discovery import MOST_ITEMS


def votes(frame: pl.DataFrame, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The exact sum of votes of every item, before noise; from a file, where ids are numbers if all of them are."""
    seen: list[np.ndarray] = []
    total = ItemWeight.total

    def watched(self: ItemWeight) -> np.ndarray:
        seen.append(total(self) / self.unit)
        return total(self)

    frame.write_csv(folder / "ratings.csv")
    ratings = Ratings.from_csv(folder / "ratings.csv", user="u", item="i")
    assert ratings.provisional_ids is not None
    with monkeypatch.context() as patch:
        patch.setattr(ItemWeight, "total", watched)
        discover_catalogue(Gate(Ledger(Budget(50.0, 1e-3))), ratings, 0.5)
    return dict(zip(map(str, ratings.provisional_ids), seen[0].tolist(), strict=True))


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
