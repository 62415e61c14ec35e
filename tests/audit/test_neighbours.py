"""Replay: what synthetic users move, on anybody's ratings."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from discreet import Budget, GlobalMean, Popularity, PrivateSVD, ProjectedGradient
from discreet.audit.replay import Move, moved, replay
from discreet.data.synthetic import market
from discreet.methods.public.query import Query
from discreet.privacy.gaussian import totals
from discreet.privacy.gaussian.blocks import UserVector
from discreet.privacy.gaussian.item_blocks import ItemWeight
from discreet.types import Floats

BUDGET = Budget(4.0, 1e-5)
MARKET = market(80, 20, 400, rng=0)


@pytest.mark.parametrize("method", [GlobalMean(), Popularity(), PrivateSVD(rank=2, row_clip=0.5)])
def test_nothing_moves_by_more_than_its_bound_and_the_bound_is_reached(method: GlobalMean) -> None:
    found = replay(method, MARKET, BUDGET)
    assert found.passed
    assert 0.99 < found.worst <= 1.0 + 1e-9
    assert found.neighbours == 24
    assert [release.name for release in found.releases]
    assert set(found.engines) == {"memory", "divided"}


def test_every_release_is_compared_for_every_user_who_leaves_or_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[str] = []

    def counted(query: Query[Any], *given: Any) -> Move:
        compared.append(query.name)
        return moved(query, *given)

    monkeypatch.setattr("discreet.audit.replay.moved", counted)
    found = replay(ProjectedGradient(rank=2, rounds=2, row_clip=0.5), MARKET, BUDGET)
    names = [release.name for release in found.releases]
    assert len(names) > 1
    assert Counter(compared) == dict.fromkeys(names, found.neighbours)
    assert all(0.5 < release.worst <= 1.0 + 1e-9 for release in found.releases)


def test_a_user_who_counts_twice_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    total = UserVector.total
    monkeypatch.setattr(UserVector, "total", lambda self: 2.0 * total(self))
    found = replay(GlobalMean(), MARKET, BUDGET)
    assert found.worst == pytest.approx(2.0, rel=1e-3)
    assert not found.passed


def test_a_user_whose_coming_moves_others_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    weigh = ItemWeight.total

    def shared(self: ItemWeight) -> Floats:
        # As if everybody's weight followed from how many users there are.
        return np.trunc(weigh(self) * (1.0 - 0.2 / max(self.pattern.n_users, 1)))

    monkeypatch.setattr(ItemWeight, "total", shared)
    found = replay(Popularity(), MARKET, BUDGET)
    assert not found.alone
    assert not found.passed


def test_an_engine_that_adds_up_otherwise_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    add = totals.add_totals
    monkeypatch.setattr(
        "discreet.audit.replay.add_totals",
        lambda one, other: [part._replace(value=part.value + 1) for part in add(one, other)],
    )
    found = replay(GlobalMean(), MARKET, BUDGET)
    assert found.engines == {"memory": True, "divided": False}
    assert not found.passed
