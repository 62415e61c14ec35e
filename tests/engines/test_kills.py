"""Killed at any moment of preparation and training, a run goes on: every release is drawn once and paid once.

Noise is fresh in every run, so no two runs end in the same model. What a killed run must equal is the unbroken run with
the same noise: the public half, sent the releases that were stored, ends in the model that was saved.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import LedgerFile, Ratings
from discreet.data.synthetic import market
from discreet.methods.checkpoint import Checkpoint
from discreet.methods.public.half import Facts
from discreet.methods.public.protocol import ProtocolRun
from discreet.model import Model
from tests.engines.killed import BUDGET, INSTANTS, method
from tests.sizes import FULL, sized

KILLS = sized(4, 100)
ROUNDS = 5  # releases of a whole run


def begin(place: Path) -> Ratings:
    ratings = market(400, 30, 3_000, rng=1)
    users = np.repeat(ratings.user_ids, np.diff(ratings.indptr))
    assert ratings.catalogue is not None
    frame = pl.DataFrame(
        {"user": users, "item": ratings.catalogue.ids[ratings.items], "rating": ratings.values}
    ).sample(fraction=1.0, shuffle=True, seed=2)
    frame.write_parquet(place / "ratings.parquet")
    (place / "items.json").write_text(json.dumps(ratings.catalogue.ids.tolist()))
    return ratings


def run(place: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.killed", str(place), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def check(place: Path, told: dict[str, Any], ratings: Ratings) -> None:
    """Nothing that was stored has changed since; the ledger is exact; the model is what the releases say."""
    last = told["seen"][-1]
    assert len(last) == ROUNDS
    for earlier in told["seen"]:
        assert last[: len(earlier)] == earlier
    (entered,) = LedgerFile(place / "people.ledger").account().runs.values()
    model = Model.load(place / "model")
    assert entered.state == "ended"
    assert [(charge.name, charge.price.mu) for charge in entered.charges] == [
        (release.name, release.mu) for release in model.statement.releases
    ]
    assert len(entered.charges) == ROUNDS
    assert model.statement.private
    assert model.statement.epsilon == BUDGET.epsilon
    protocol = ProtocolRun(
        method().public_half, method().settings, Facts(ratings.n_items, ratings.scale, BUDGET, BUDGET.mu), 3
    )
    with Checkpoint(place / "run") as kept:
        assert kept.count == ROUNDS
        for number in range(ROUNDS):
            found = kept.released(number)
            assert found is not None
            protocol.take(found[1])
    assert protocol.trained is not None
    assert np.array_equal(protocol.trained.side.factors, model.item_side.factors)
    assert np.array_equal(protocol.trained.side.offsets, model.item_side.offsets)


def test_kills_at_random_moments(tmp_path: Path) -> None:
    ratings, kills, number = begin(tmp_path), 0, 0
    while kills < KILLS:
        place = tmp_path / str(number)
        place.mkdir()
        for name in ("ratings.parquet", "items.json"):
            os.link(tmp_path / name, place / name)
        told = run(place, "--kills", str(min(KILLS - kills, 12)), "--seed", str(number))
        check(place, told, ratings)
        kills, number = kills + max(sum(map(bool, told["statuses"])), 1), number + 1


_SOME = ["after a charge", "between a release and its record"]


@pytest.mark.parametrize("count", [1, 3] if FULL else [3])
@pytest.mark.parametrize("instant", list(INSTANTS) if FULL else _SOME)
def test_kills_at_every_instant_of_the_proof(instant: str, count: int, tmp_path: Path) -> None:
    ratings = begin(tmp_path)
    told = run(tmp_path, "--instant", instant, "--count", str(count))
    assert [bool(status) for status in told["statuses"]] == [True, False]
    check(tmp_path, told, ratings)
