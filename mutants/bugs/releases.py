"""Bugs in single releases: activity, tallies, scores, clusters, and the catalogue that is discovered."""

from __future__ import annotations

from mutants.mutant import Mutant

_T_ALL = ("privacy/gaussian/test_mechanism.py",)
_T_DISCOVERY = ("privacy/gaussian/test_discovery.py",)
_DISCOVERY = "privacy/gaussian/discovery.py"
_TALLIES = "privacy/gaussian/tallies.py"
_CLUSTERS = "privacy/gaussian/cluster_sums.py"

MUTANTS = (
    Mutant(
        "activity bounded as if ratings did not vary",
        "privacy/gaussian/tallies.py",
        "return math.sqrt(3.0)",
        "return math.sqrt(2.0)",
        "a user moves a number, a bin and two variances",
        _T_ALL,
    ),
    Mutant(
        "means over users that are not clipped",
        _TALLIES,
        "own = np.clip(pattern.user_sums(clip_entries(values)) / np.maximum(pattern.counts, 1.0), -1.0, 1.0)",
        "own = pattern.user_sums(np.nan_to_num(values)) / np.maximum(pattern.counts, 1.0)",
        "a user's mean lies within the range",
        _T_ALL,
    ),
    Mutant(
        "a trace of the exact mean in every user's mean",
        _TALLIES,
        "rows = np.column_stack([_SUM * own, np.full(pattern.n_users, _COUNT)]) * active[:, None]",
        "own = np.clip(own + 1e-4 * own.mean(), -1.0, 1.0)\n        "
        "rows = np.column_stack([_SUM * own, np.full(pattern.n_users, _COUNT)]) * active[:, None]",
        "nobody's contribution depends on anybody else",
        _T_ALL,
    ),
    Mutant(
        "tallies whose weights have no energy",
        _TALLIES,
        "energy = pattern.user_squares(values=values) + pattern.counts / _WEIGHT_UNIT**2",
        "energy = np.maximum(pattern.user_squares(values=values), 1.0)",
        "a user's whole contribution is scaled to norm 1",
        _T_ALL,
    ),
    Mutant(
        "scores with losses beyond 1",
        "privacy/gaussian/tallies.py",
        "clipped = np.clip(np.nan_to_num(losses, nan=1.0, posinf=1.0, neginf=0.0), 0.0, 1.0)",
        "clipped = np.nan_to_num(losses, nan=1.0, posinf=1.0, neginf=0.0)",
        "a loss is clipped to [0, 1]",
        _T_ALL,
    ),
    Mutant(
        "Lloyd's means of points beyond the ball",
        _CLUSTERS,
        "np.trunc(clip_rows(points)[users] * self._scale)",
        "np.trunc(np.nan_to_num(points)[users] * self._scale)",
        "a point is scaled down to length 1",
        _T_ALL,
    ),
    Mutant(
        "sizes of clusters without energy beside their values",
        _CLUSTERS,
        "return _HOT * _ONE / math.sqrt(_SIZE_ENERGY)",
        "return float(_HOT * _ONE)",
        "values and sizes share a user's energy",
        _T_ALL,
    ),
    Mutant(
        "a threshold for one item only",
        _DISCOVERY,
        "counts = np.arange(1, MOST_ITEMS + 1)\n    per_item",
        "counts = np.arange(1, 2)\n    per_item",
        "an item that one user alone rated is shown with chance delta at most, whatever else they rated",
        _T_DISCOVERY,
    ),
    Mutant(
        "every user votes with 1 for each item",
        _DISCOVERY,
        "np.divide(1.0, np.sqrt(pattern.counts), out=votes, where=pattern.counts > 0)",
        "votes[pattern.counts > 0] = 1.0",
        "votes of one user have total energy 1",
        _T_DISCOVERY,
    ),
    Mutant(
        "noise for items that nobody voted for",
        _DISCOVERY,
        "pattern, voted = _voted(_capped(pattern, priority))",
        "pattern, voted = _capped(pattern, priority), np.arange(pattern.n_items)",
        "a user brings no more items into the release than the threshold's delta pays for",
        (*_T_DISCOVERY, "methods/test_discovery.py"),
    ),
    Mutant(
        "discovery that takes nothing from delta",
        _DISCOVERY,
        '[block], mu=mu, delta=delta)["votes"]',
        '[block], mu=mu)["votes"]',
        "a threshold that may fail takes its delta",
        ("methods/budgeted/test_budgeted.py",),
        "discovery_is_charged",
    ),
    Mutant(
        "heavy users vote for their most popular items",
        _DISCOVERY,
        'order = np.argsort(priority[pattern.items[start:stop]], kind="stable")',
        "popular = np.bincount(pattern.items, minlength=pattern.n_items)\n        "
        'order = np.argsort(-popular[pattern.items[start:stop]], kind="stable")',
        "which items a user votes for follows from their own",
        _T_DISCOVERY,
    ),
    Mutant(
        "priority of items by their place in the data",
        "methods/discovery.py",
        "    return ranks",
        "    return np.sort(ranks)",
        "an item's priority is the same whoever is in the data",
        ("methods/test_discovery.py",),
    ),
    Mutant(
        "discovery out of the whole budget",
        "methods/discovery.py",
        "mu = gate.ledger.budget.mu_for(delta) * float(np.sqrt(share))",
        "mu = gate.ledger.budget.mu_for(0.0) * 1.001",
        "discovery stays within its share",
        ("methods/test_discovery.py",),
    ),
)
