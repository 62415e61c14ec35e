"""Totals cut by blocks of items add up, in any tree, to what they are uncut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from discreet import DPALS, BudgetedALS
from discreet.data.synthetic import market
from discreet.engines.cluster import add_shards, count_shards, join_shards, split_totals
from discreet.engines.memory import MemoryEngine
from discreet.errors import SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.protocol import ProtocolRun
from discreet.methods.public_half import Facts
from discreet.methods.query import Query
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.totals import Total, exact_totals

WORLD = market(60, 17, 260, rng=0)


def queries(method: PrivateMethod) -> list[Query[object]]:
    """Everything that a run asks; without noise."""
    budget = Budget(50.0, 1e-3)
    facts = Facts(WORLD.n_items, WORLD.scale, budget, budget.mu)
    run, found = ProtocolRun(method.public_half, method.settings, facts, 0), []
    while (query := run.query) is not None:
        found.append(query)
        totals = MemoryEngine(method.private_half, WORLD).totals(query)
        run.take({total.name: total.value.astype(np.float64) for total in totals})
    return found


def same(one: Sequence[Total], other: Sequence[Total]) -> bool:
    return len(one) == len(other) and all(
        left.name == right.name
        and left.value.dtype == right.value.dtype == np.int64
        and np.array_equal(left.value, right.value)
        and left.unit.shape == right.unit.shape
        and np.array_equal(left.unit, right.unit)
        for left, right in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("method", [BudgetedALS(rank=2, rounds=1), DPALS(rank=2, rounds=1)], ids=str)
@pytest.mark.parametrize("count", [1, 2, 5, 17, 40])
def test_cut_added_in_a_tree_and_joined_nothing_has_changed(method: PrivateMethod, count: int) -> None:
    for query in queries(method):
        check(method, query, count)


def check(method: PrivateMethod, query: Query[object], count: int) -> None:
    whole = MemoryEngine(method.private_half, WORLD).totals(query)
    answers = [
        split_totals(
            exact_totals(
                method.private_half(WORLD.take_users(slice(start, start + 12))).contributions(query)
            ),
            count,
        )
        for start in range(0, 60, 12)
    ]
    left = [add_shards(*parts) for parts in zip(*answers[:3], strict=True)]
    right = [add_shards(*parts) for parts in zip(*answers[3:], strict=True)]
    assert same(join_shards([add_shards(*parts) for parts in zip(left, right, strict=True)]), whole)
    assert not same(join_shards(left), whole)


def test_the_number_of_shards_follows_from_the_form_of_the_query() -> None:
    query = queries(BudgetedALS(rank=2, rounds=1))[-1]
    needed = sum(total.value.nbytes for total in MemoryEngine(BudgetedALS.private_half, WORLD).totals(query))
    assert count_shards(query) == 1
    assert count_shards(query, needed) == 1
    assert count_shards(query, needed - 1) == 2
    assert count_shards(query, 8) == needed // 8


def test_shards_of_different_rows_or_units_are_not_added() -> None:
    total = Total("counts", np.arange(6), np.ones(6))
    first, second = split_totals([total], 2)
    with pytest.raises(SettingsInvalid, match="another block or shape"):
        add_shards(first, split_totals([total], 3)[0])
    with pytest.raises(SettingsInvalid, match="different units"):
        add_shards(first, [Total("counts", second[0].value, np.full(3, 2.0))])
