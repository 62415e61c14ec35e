"""The threshold for publishing an item: never lower than any user could need, and hardly higher."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet.privacy import Budget, Gate, Ledger
from discreet.privacy.gaussian.blocks import ItemWeight, Pattern
from discreet.privacy.gaussian.discovery import MOST_ITEMS, discover, threshold

PRIORITY = np.random.default_rng(0).integers(0, 2**63, 5_000).astype(np.uint64)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
def test_threshold_covers_every_number_of_items(mu: float, delta: float) -> None:
    bound = threshold(mu, delta)
    counts = np.arange(1, MOST_ITEMS + 1)
    chance = -np.expm1(counts * norm.logcdf((bound - 1 / np.sqrt(counts)) * mu))
    assert chance.max() <= delta * (1 + 1e-9)
    assert chance.max() >= 0.99 * delta


def test_items_of_one_user_pass_at_the_promised_rate() -> None:
    """At a delta large enough to see: one user with 50 items of their own, many times over."""
    mu, delta, runs = 1.0, 0.2, 2_000
    pattern = Pattern(np.array([0, 50]), np.arange(50, dtype=np.int32), 50)
    shown = 0
    for _ in range(runs):
        gate = Gate(Ledger(Budget(50.0, 0.5)))
        shown += len(discover(gate, pattern, PRIORITY[:50], mu=mu, delta=delta)) > 0
    allowed = delta + 4 * math.sqrt(delta * (1 - delta) / runs)
    assert shown / runs <= allowed
    exact = -math.expm1(50 * norm.logcdf((threshold(mu, delta) - 1 / math.sqrt(50)) * mu))
    assert abs(shown / runs - exact) < 4 * math.sqrt(exact / runs)


def test_shared_items_are_found() -> None:
    users, items = 3_000, 40
    pattern = Pattern(np.arange(users + 1) * 4, np.tile(np.arange(4, dtype=np.int32), users), items)
    found = discover(Gate(Ledger(Budget(2.0, 1e-6))), pattern, PRIORITY[:items], mu=0.3, delta=1e-7)
    assert found.tolist() == [0, 1, 2, 3]


def test_one_more_heavy_user_moves_nobody_elses_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users with more items than may count: the change from adding one has norm at most 1."""
    rng = np.random.default_rng(0)
    rows = [np.sort(rng.choice(5_000, size, replace=False)) for size in (3_000, 1_500, 40, 1_001, 4_000)]
    totals = []
    original = ItemWeight.total

    def watched(self: ItemWeight) -> np.ndarray:
        totals.append(original(self) / self.unit)
        return original(self)

    monkeypatch.setattr(ItemWeight, "total", watched)
    for users in (rows, rows[1:]):
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in users])])
        pattern = Pattern(indptr, np.concatenate(users).astype(np.int32), 5_000)
        discover(Gate(Ledger(Budget(2.0, 1e-6))), pattern, PRIORITY, mu=0.3, delta=1e-7)
    change = np.linalg.norm(totals[0] - totals[1])
    assert 0.99 <= change <= 1 + 1e-9
    assert np.count_nonzero(totals[0] - totals[1]) == MOST_ITEMS
