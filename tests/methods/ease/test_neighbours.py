"""Whole runs with and without one user, from the table to the totals: no release moves by more than was charged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import EASE, Budget, Catalogue, Ratings
from discreet.data import StoredRatings
from discreet.privacy import Gate, Noise
from discreet.privacy.gaussian.totals import Total
from tests.engines.tables import stored
from tests.methods.neighbours import distance

M = 12
CATALOGUE = Catalogue(list(range(100, 100 + M)))
BUDGET = Budget(5.0, 1e-6)
Rows = list[tuple[int | None, float | None]]

EVERYTHING = list(range(100, 100 + M))
HOSTILE: dict[str, Rows] = {
    "two items": [(100, 5.0), (111, 5.0)],
    "one item": [(105, 5.0)],
    "the whole catalogue, all loved": [(item, 5.0) for item in EVERYTHING],
    "the whole catalogue, nothing liked": [(item, 1.0) for item in EVERYTHING],
    "the whole catalogue at both ends": [(item, 1.0 + 4.0 * (item % 2)) for item in EVERYTHING],
    "values outside": [(100, 1e300), (101, -7.0), (102, np.inf), (103, 5.0), (104, 4.999999), (105, np.nan)],
    "nothing that is a number": [(100, None), (None, 5.0), (102, np.nan)],
    "strangers alone": [(5, 5.0), (99, 5.0), (100 + M, 5.0)],
    "one row a thousand times": [(104, 5.0)] * 1_000 + [(107, 4.0)],
    "one item at every rating": [(104, 1.0 + (k % 9) / 2.0) for k in range(400)] + [(103, 3.0), (108, 5.0)],
    "an ordinary few": [(101, 4.0), (103, 2.0), (106, 5.0), (110, 3.5)],
}


def frame(people: dict[int, Rows]) -> pl.DataFrame:
    rows = [(who, what, stars) for who, told in people.items() for what, stars in told]
    return pl.DataFrame(
        rows, schema={"who": pl.Int64, "what": pl.Int64, "stars": pl.Float64}, orient="row", strict=False
    )


def town(users: int = 60, m: int = M) -> dict[int, Rows]:
    rng = np.random.default_rng(4)
    return {
        who: [
            (100 + int(item), float(rng.choice([1.0, 2.0, 3.0, 4.0, 5.0])))
            for item in rng.choice(m, rng.integers(0, min(m, 9)), replace=False)
        ]
        for who in range(users)
    }


def from_memory(people: pl.DataFrame, folder: Path, rated: bool, catalogue: Catalogue) -> Ratings:
    table = folder / "table.parquet"
    people.write_parquet(table)
    return Ratings.from_file(
        str(table),
        user="who",
        item="what",
        rating="stars" if rated else None,
        rating_range=(1.0, 5.0) if rated else None,
        catalogue=catalogue,
        allow_dropped=1.0,
    )


def from_disk(people: pl.DataFrame, folder: Path, rated: bool, catalogue: Catalogue) -> StoredRatings:
    table = folder / "table.parquet"
    people.write_parquet(table)
    blocks = folder / f"blocks-{len(list(folder.iterdir()))}"
    return stored(str(table), blocks, rated=rated, catalogue=catalogue, block_ratings=300, run_rows=400)


PLACES: dict[str, Callable[..., Any]] = {"memory": from_memory, "disk": from_disk}


class Tape:
    """What a run was asked and answered; a second run is given the first one's releases."""

    def __init__(self, replay: Tape | None = None) -> None:
        self.asked: list[tuple[str, float]] = []
        self.forms: list[Any] = []
        self.totals: list[list[Total]] = []
        self.released: list[dict[str, Any]] = []
        self.replay = replay

    def fit(self, method: EASE, ratings: Any) -> Tape:
        original, tape = Gate.release_totals, self

        def taking(gate: Gate, name: str, forms: Any, totals: Any, *, mu: float, **other: Any) -> Any:
            released = original(gate, name, forms, totals, mu=mu, **other)
            if tape.replay is not None:
                released = tape.replay.released[len(tape.released)]
            tape.asked.append((name, mu))
            tape.forms.append(forms)
            tape.totals.append(list(totals))
            tape.released.append(released)
            return released

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Gate, "release_totals", taking)
            method.fit(ratings, BUDGET, rng=0, noise=Noise.fixed_key_not_private("the same twice"))
        self.side = method.model_.item_side
        return self


def moves(full: Tape, less: Tape) -> list[float]:
    """How far each release moved, in units of what it cost."""
    assert full.asked == less.asked
    return [
        distance([(a.value - b.value).astype(np.float64) for a, b in zip(one, other, strict=True)], form, mu)
        for one, other, form, (_, mu) in zip(full.totals, less.totals, full.forms, full.asked, strict=True)
    ]


@pytest.mark.parametrize("rated", [True, False], ids=["graded", "clicks"])
@pytest.mark.parametrize("place", list(PLACES))
def test_no_user_moves_a_release_by_more_than_was_charged(place: str, rated: bool, tmp_path: Path) -> None:
    read, people = PLACES[place], town()
    base = Tape().fit(EASE(head=9), read(frame(people), tmp_path, rated, CATALOGUE))
    assert len(base.asked) == 2
    assert sum(mu**2 for _, mu in base.asked) == pytest.approx(BUDGET.mu**2)
    most = np.zeros(2)
    for who, told in HOSTILE.items():
        more = Tape(base).fit(EASE(head=9), read(frame({**people, 777: told}), tmp_path, rated, CATALOGUE))
        found = np.array(moves(more, base))
        assert (found <= 1.0 + 1e-9).all(), who
        most = np.maximum(most, found)
        # Shown the same releases, both runs make the same model: nothing else of the ratings is in it.
        assert np.array_equal(more.side.weights, base.side.weights)
        assert np.array_equal(more.side.counts, base.side.counts)
    assert (most >= 1.0 - 1e-6).all(), most


@pytest.mark.parametrize("place", list(PLACES))
def test_who_took_ten_thousand_items_moves_no_release_by_more(place: str, tmp_path: Path) -> None:
    m = 10_000
    read, people, catalogue = PLACES[place], town(40, m), Catalogue(list(range(100, 100 + m)))
    base = Tape().fit(EASE(head=200), read(frame(people), tmp_path, True, catalogue))
    rng = np.random.default_rng(6)
    for values in (np.full(m, 5.0), rng.choice([1.0, 3.0, 4.0, 5.0], m)):
        told: Rows = list(zip(range(100, 100 + m), values.tolist(), strict=True))
        more = Tape(base).fit(EASE(head=200), read(frame({**people, 777: told}), tmp_path, True, catalogue))
        found = moves(more, base)
        assert max(found) <= 1.0 + 1e-9
        assert min(found) >= 0.99


@pytest.mark.parametrize("rated", [True, False], ids=["graded", "clicks"])
def test_memory_and_disk_make_the_same_model_to_the_last_bit(rated: bool, tmp_path: Path) -> None:
    people = frame({**town(), **dict(enumerate(HOSTILE.values(), start=900))})
    both = [read(people, tmp_path, rated, CATALOGUE) for read in PLACES.values()]
    private = {
        EASE(head=9).fit(one, BUDGET, rng=0, noise=Noise.fixed_key_not_private("k")).model_.digest
        for one in both
    }
    openly = {EASE(head=9).fit(one, rng=0).model_.digest for one in both}
    assert len(private) == len(openly) == 1
    assert private != openly
