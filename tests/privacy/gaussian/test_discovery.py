"""The threshold for publishing an item: never lower than any user could need, and hardly higher."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet.privacy import Budget, Gate, Ledger
from discreet.privacy.gaussian.blocks import Pattern
from discreet.privacy.gaussian.discovery import MOST_ITEMS, _voted, discover, threshold
from discreet.privacy.gaussian.item_blocks import ItemWeight

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


def test_items_beyond_what_counts_add_nothing_to_the_chance() -> None:
    """A user with twenty times as many items as may count, and no others: what shows is what a thousand items cost."""
    mu, delta, runs, own = 1.0, 0.2, 500, 20 * MOST_ITEMS
    pattern = Pattern(np.array([0, own]), np.arange(own, dtype=np.int32), own)
    priority = np.random.default_rng(1).permutation(own).astype(np.uint64)
    shown = 0
    for _ in range(runs):
        gate = Gate(Ledger(Budget(50.0, 0.5)))
        shown += len(discover(gate, pattern, priority, mu=mu, delta=delta)) > 0
    assert shown / runs <= delta + 4 * math.sqrt(delta * (1 - delta) / runs)


def test_one_more_user_brings_in_no_more_entries_than_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours: the release of all others has the same entries, and at most a thousand more."""
    rng = np.random.default_rng(2)
    rows = [np.sort(rng.choice(5_000, size, replace=False)) for size in (4_500, 30, 1_200)]
    without, with_one = (set(_votes(users, 5_000, monkeypatch)) for users in (rows[1:], rows))
    assert without < with_one
    assert len(with_one - without) <= MOST_ITEMS


def test_nobody_with_a_vote_is_charged_like_somebody() -> None:
    gate = Gate(Ledger(Budget(2.0, 1e-6)))
    assert len(discover(gate, Pattern.empty(7), PRIORITY[:7], mu=0.3, delta=1e-7)) == 0
    assert (gate.ledger.spent_mu, gate.ledger.spent_delta) == (0.3, 1e-7)


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
    for users in (rows, rows[1:]):
        votes = _votes(users, 5_000, monkeypatch)
        totals.append(np.array([votes.get(item, 0.0) for item in range(5_000)]))
    change = np.linalg.norm(totals[0] - totals[1])
    assert 0.99 <= change <= 1 + 1e-9
    assert np.count_nonzero(totals[0] - totals[1]) == MOST_ITEMS


def _votes(users: list[np.ndarray], n_items: int, monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """The exact votes, before noise, of every item that has an entry in the release."""
    seen: list[np.ndarray] = []
    original = ItemWeight.total

    def watched(self: ItemWeight) -> np.ndarray:
        seen.append(original(self) / self.unit)
        return original(self)

    def told(pattern: Pattern) -> tuple[Pattern, np.ndarray]:
        seen.append(_voted(pattern)[1])
        return _voted(pattern)

    indptr = np.concatenate([[0], np.cumsum([len(row) for row in users])])
    pattern = Pattern(indptr, np.concatenate(users).astype(np.int32), n_items)
    with monkeypatch.context() as patch:
        patch.setattr(ItemWeight, "total", watched)
        patch.setattr("discreet.privacy.gaussian.discovery._voted", told)
        discover(Gate(Ledger(Budget(2.0, 1e-6))), pattern, PRIORITY[:n_items], mu=0.3, delta=1e-7)
    items, votes = seen
    return dict(zip(items.tolist(), votes.tolist(), strict=True))
