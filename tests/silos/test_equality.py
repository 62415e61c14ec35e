"""Over silos or in one place, with the same noise: the same model to the last bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.methods.budgeted.settings import BudgetedSettings
from tests.silos.worlds import Run, agree, central, world


@pytest.mark.parametrize("kind", ["ratings", "clicks"])
@pytest.mark.parametrize("noise", ["shares", "server"])
@pytest.mark.parametrize("count", [1, 3, 10])
def test_the_model_is_the_central_one(tmp_path: Path, count: int, noise: str, kind: str) -> None:
    ratings = world(kind)
    agreement = agree(ratings, count, noise=noise)
    run = Run(tmp_path, ratings, agreement)
    model, wanted = run.finish(), central(ratings, agreement)
    assert model.item_side.offsets.tobytes() == wanted.item_side.offsets.tobytes()
    assert model.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
    assert model.item_side.rule == wanted.item_side.rule
    assert model.item_side.rank == 3
    assert model.settings == wanted.settings
    charged = [(release.name, release.mu) for release in wanted.statement.releases]
    assert [(release.name, release.mu) for release in model.statement.releases] == charged
    for silo in run.silos.values():
        assert [(release.name, release.mu) for release in silo.statement().releases] == charged
    run.close()


def test_curvature_for_each_item_and_the_rule_for_rank_and_rounds(tmp_path: Path) -> None:
    ratings = world(users=900)
    for number, settings in enumerate(
        [BudgetedSettings(rank=2, rounds=2, curvature="full"), BudgetedSettings()]
    ):
        agreement = agree(ratings, 3, settings=settings)
        run = Run(tmp_path / str(number), ratings, agreement)
        model, wanted = run.finish(), central(ratings, agreement)
        assert np.array_equal(model.item_side.factors, wanted.item_side.factors)
        assert np.array_equal(model.item_side.offsets, wanted.item_side.offsets)
        run.close()


def test_without_a_fixed_key_the_model_is_private_and_saved_with_its_silos(tmp_path: Path) -> None:
    ratings = world()
    run = Run(tmp_path, ratings, agree(ratings, 3, honest=2), fixed=False)
    statement = run.finish().statement
    assert statement.private
    assert statement.model == "silos"
    assert statement.silos is not None
    assert (statement.silos.count, statement.silos.honest, statement.silos.noise) == (3, 2, "shares")
    assert statement.epsilon == 6.0
    assert statement.silos.epsilon_in_two > 12.0
    own = run.silos["silo-00"].statement()
    assert own.private
    assert own.epsilon == 6.0
    for said in (statement, own):
        # That a silo of one is refused tells a silo of two from it.
        assert any("at least two users" in entry for entry in said.not_protected)
    run.close()
