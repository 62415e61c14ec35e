"""The rest of the budget is divided between rounds and offsets by what each leaves to know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet import Budget, BudgetedALS
from discreet.catalogue import RatingScale
from discreet.data import synthetic
from discreet.methods.budgeted.public.frame import Frame
from discreet.methods.budgeted.public.offsets import OffsetFilter
from discreet.methods.budgeted.public.offsets_share import divided, offsets_share
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.round import State
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide

ITEMS, RANK = 200, 6
ACTIVITY = Activity(5_000, 40, 3.5, 0.8, 0.2, np.array([40.0]), np.ones(1))


def after_a_round(known: float, power: float) -> State:
    rng = np.random.default_rng(0)
    offsets = 0.4 * rng.standard_normal(ITEMS)
    told = np.full(ITEMS, known)
    side = ItemSide(RatingScale((1.0, 5.0)), 3.5, offsets, np.zeros((ITEMS, RANK)), Ridge(4.0))
    return State(
        side,
        Frame(np.eye(1 + RANK), 0.9, np.full(RANK, power)),
        ItemWeights.first(np.full(ITEMS, 100.0), np.ones(ITEMS)),
        OffsetFilter(offsets, told, np.zeros(ITEMS)),
        known=told,
        told=told,
        taste=np.full(RANK, power),
    )


def test_offsets_get_more_where_there_is_little_taste_and_nothing_where_noise_is_small() -> None:
    weak, strong = (offsets_share(after_a_round(3e3, power), 3.0, ACTIVITY) for power in (1e-4, 0.1))
    assert weak > strong
    assert offsets_share(after_a_round(1e6, 0.1), 3.0, ACTIVITY) == 0.0


def test_without_factors_or_before_anything_is_known_nothing_is_kept() -> None:
    state = after_a_round(3e3, 1e-4)
    for unknown in ({"taste": None}, {"known": None}, {"told": None}):
        assert offsets_share(replace(state, **unknown), 3.0, ACTIVITY) == 0.0  # type: ignore[arg-type]


def test_rounds_and_offsets_together_cost_what_the_rounds_would_have_cost() -> None:
    costs, kept = divided([0.3, 0.4, 0.5], 0.25, after_a_round(3e3, 1e-4), ACTIVITY)
    assert kept > 0.0
    assert sum(cost**2 for cost in costs) + kept**2 == pytest.approx(0.3**2 + 0.4**2 + 0.5**2)
    assert costs[1] / costs[0] == pytest.approx(0.4 / 0.3)


def test_a_market_of_many_items_asks_for_offsets_again_and_one_of_few_does_not() -> None:
    sparse = synthetic.market(3_000, 1_000, 90_000, rng=0)
    dense = synthetic.market(6_000, 40, 70_000, rng=0)
    asked = [
        [
            release.name
            for release in BudgetedALS(rank=4, rounds=6)
            .fit(ratings, Budget(8.0, 1e-6), rng=0)
            .model_.statement.releases
        ]
        for ratings in (sparse, dense)
    ]
    assert asked[0][-1] == "offsets again"
    assert "offsets again" not in asked[1]
