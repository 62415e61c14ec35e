"""Deviations from the own level: what leaves follows from releases, costs the budget, and is no worse than free."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.data.synthetic import market
from discreet.errors import ModelInvalid, SettingsInvalid
from discreet.methods.prototypes.private.lloyd import LevelPlan, release_levels
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import factorise
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.privacy.budget import Budget
from discreet.privacy.pure.noise import PureNoise
from tests.methods.prototypes.test_lloyd import BUDGET, Anybody, WatchedGate
from tests.methods.prototypes.worlds import ITEMS, RANGE, hostile, ratings, silo

GROUPS = [1, 3, "auto"]


def settings(**changes: Any) -> PrototypeSettings:
    kind = PrototypeSettings if "minimum_users" in changes else Anybody
    return kind.checked(users=60, dimension=2, rounds=3, **changes)


def evidence_of(gate: WatchedGate, people: Ratings, chosen: PrototypeSettings) -> Any:
    return release_levels(gate, people, chosen, BUDGET)


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("who", list(hostile()))
def test_whoever_comes_changes_no_release_by_more_than_one_and_nothing_else(groups: Any, who: str) -> None:
    rows, chosen = silo(40, 3), settings(prototypes=groups)
    base = WatchedGate()
    before = evidence_of(base, ratings(rows), chosen)
    more = WatchedGate(base.released)
    after = evidence_of(more, ratings([*rows[:9], hostile()[who], *rows[9:]]), chosen)
    assert len(more.sums) == len(base.sums)
    assert max(more.largest) <= 1.0 + 1e-9
    for one, other in zip(base.sums, more.sums, strict=True):
        assert sum(float(np.square(a - b).sum()) for a, b in zip(one, other, strict=True)) <= 1.0 + 1e-9
    for name in ("level", "level_sigma", "users", "sums", "weights", "groups", "sizes"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))


@pytest.mark.parametrize("groups", [1, 4])
def test_either_path_costs_the_whole_budget(groups: int) -> None:
    message = PrivatePrototypes(settings(prototypes=groups, minimum_users=1)).message(
        ratings(silo(60, 1)), 3.0
    )
    assert message.statement.epsilon == pytest.approx(3.0)
    plan = LevelPlan.of(settings(), Budget(3.0, 1e-6))
    spent = plan.count**2 + plan.level**2 + plan.items**2 + plan.again**2
    assert spent <= Budget(3.0, 1e-6).mu ** 2
    assert spent == pytest.approx(Budget(3.0, 1e-6).mu ** 2, rel=1e-6)


@pytest.mark.parametrize("groups", [1, 4])
def test_a_message_travels(groups: int) -> None:
    method = PrivatePrototypes(settings(prototypes=groups, minimum_users=1))
    sent = method.message(ratings(silo(60, 1)), 5.0)
    body = sent.to_bytes()
    back = PrototypeMessage.from_bytes(body)
    assert back.to_bytes() == body
    np.testing.assert_array_equal(back.values, sent.values)
    assert RANGE[0] <= sent.values.min()
    assert sent.values.max() <= RANGE[1]
    assert len(sent.values) == groups == len(back.weights)
    for cut in (1, 40, len(body) // 2):
        with pytest.raises(ModelInvalid):
            PrototypeMessage.from_bytes(body[:-cut])


def test_messages_of_two_kinds_are_not_mixed_and_clicks_have_no_level() -> None:
    users = ratings(silo(200, 1))
    level = PrivatePrototypes(settings(minimum_users=1)).message(users, 5.0)
    swap = PrivatePrototypes(PrototypeSettings.from_preset("swap", users=60, minimum_users=1)).message(
        users, 5.0
    )
    with pytest.raises(ModelInvalid, match="deviations"):
        factorise([level, swap])
    with pytest.raises(SettingsInvalid, match="no level"):
        PrototypeSettings.checked(unrated="level").rows(explicit=False)
    with pytest.raises(SettingsInvalid, match="lloyd"):
        PrototypeSettings.checked(unrated="level", clustering="swap")
    assert PrototypeSettings.checked().rows(explicit=False) == "zero"


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("world", ["market", "no tastes, rows dense"])
def test_no_epsilon_loses_to_the_users_own_mean(world: str, epsilon: float) -> None:
    train, test = halves(market(3_000, 80, 60_000, rng=1) if world == "market" else no_tastes())
    method = PrivatePrototypes(users=1_000)
    keys = [PureNoise.fixed_key_not_private(f"{world} {epsilon} {number}") for number in range(3)]
    messages = [
        method.message(train.take_users(np.arange(train.n_users) % 3 == number), epsilon, noise=key)
        for number, key in enumerate(keys)
    ]
    side = factorise(messages, FactorSettings(), 0)
    own = side.fold_in(train.indptr, train.items, train.values)
    users = np.repeat(np.arange(test.n_users), np.diff(test.indptr))
    counts = np.maximum(np.diff(train.indptr), 1)
    mean = np.add.reduceat(np.append(train.values, 0.0), train.indptr[:-1]) / counts
    ours = np.sqrt(np.mean((side.predict(own, users, test.items) - test.values) ** 2))
    free = np.sqrt(np.mean((mean[users] - test.values) ** 2))
    assert ours < free


def halves(whole: Ratings) -> tuple[Ratings, Ratings]:
    """Nine ratings in ten of users with ten and more, and the tenth."""
    whole = whole.take_users(np.diff(whole.indptr) >= 10)
    place = np.arange(whole.n_ratings) - np.repeat(whole.indptr[:-1], np.diff(whole.indptr))
    return whole.keep(place % 10 != 3), whole.keep(place % 10 == 3)


def no_tastes() -> Ratings:
    """Users differ in their level, items in nothing: whatever is learnt about items is noise."""
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(1_500):
        picked = np.sort(rng.choice(ITEMS, size=11, replace=False)).tolist()
        level = rng.normal(3.0, 0.5)
        values = np.clip(np.rint(level + rng.normal(0.0, 1.0, len(picked))), *RANGE)
        rows.append(dict(zip(picked, values.tolist(), strict=True)))
    return ratings(rows)
