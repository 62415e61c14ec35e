"""What the first release says about users' levels, and offsets averaged over all releases."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.catalogue import RatingScale
from discreet.methods.budgeted.public.plan import Activity, read_activity
from discreet.methods.budgeted.public.step import AveragedOffsets, Rules
from discreet.privacy.gaussian.blocks import Pattern
from discreet.privacy.gaussian.tallies import ActivitySums

SCALE = RatingScale((1.0, 5.0))
ITEMS = 4_000
NOTHING = Rules(Activity(1.0, 1.0, 3.0, 1.0, 1.0, np.ones(1), np.ones(1)))


def people(users: int, level: float, between: float, within: float, counts: np.ndarray, seed: int = 0):
    """Users whose true means have variance ``between`` around ``level``, ratings variance ``within`` around them."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    own = np.repeat(level + np.sqrt(between) * rng.standard_normal(users), counts)
    values = own + np.sqrt(within) * rng.standard_normal(indptr[-1])
    items = np.concatenate([np.sort(rng.permutation(64)[:count]) for count in counts])
    return indptr.astype(np.int64), items.astype(np.int32), values


def released(indptr: np.ndarray, items: np.ndarray, values: np.ndarray, sigma: float = 0.0, seed: int = 1):
    mechanism = ActivitySums(64)
    (block,) = mechanism.blocks(Pattern(indptr, items, 64), SCALE.scaled(values))
    total = block.values.sum(axis=0, dtype=np.float64)
    rng = np.random.default_rng(seed)
    noisy = total + sigma * 2.0**20 * rng.standard_normal(len(total))
    return mechanism.read({"activity": noisy}, mechanism.bound / max(sigma, 1e-9))


@pytest.mark.parametrize("counts", [np.full(4_000, 4), np.full(4_000, 40), np.tile([2, 10, 30], 2_000)])
def test_level_and_variances_are_those_of_the_users(counts: np.ndarray) -> None:
    data = people(len(counts), 3.6, 0.09, 0.16, counts)
    activity = read_activity(released(*data), 64, SCALE)
    assert activity is not None
    assert activity.centre == pytest.approx(3.6, abs=0.02)
    assert activity.within == pytest.approx(0.16, rel=0.15)
    # Means of few ratings scatter by chance: that part is not a difference between people.
    assert activity.between == pytest.approx(0.09, rel=0.25)


def test_a_variance_of_means_that_noise_hides_is_the_usual_one() -> None:
    """Taken as it is, noise made it next to nothing in one run of six, and everybody was drawn to one level."""
    data = people(4_000, 4.2, 0.09, 0.36, np.full(4_000, 10))
    found = [read_activity(released(*data, sigma=40.0, seed=seed), 64, SCALE) for seed in range(40)]
    ratios = np.array([one.between / one.within for one in found if one])
    assert len(ratios) == 40
    assert ratios.min() > 0.25 / 2.5
    assert ratios.max() < 0.25 * 2.5
    clear = read_activity(released(*data), 64, SCALE)
    assert clear is not None
    assert clear.between / clear.within == pytest.approx(0.25, rel=0.1)


def releases(sigmas: list[float], seed: int = 0) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    true = 0.4 * rng.standard_normal(ITEMS)
    return true, [true + sigma * rng.standard_normal(ITEMS) for sigma in sigmas]


def filtered(sigmas: list[float], seen_: list[np.ndarray], scatter: float = 0.0) -> AveragedOffsets:
    precision, spread = [np.full(ITEMS, sigma**-2) for sigma in sigmas], np.full(ITEMS, scatter)
    found = AveragedOffsets(seen_[0], precision[0], spread)
    for offsets, info in zip(seen_[1:], precision[1:], strict=True):
        found = found.updated(offsets, info, spread)
    return found


def test_releases_of_the_same_offsets_average_by_their_noise() -> None:
    sigmas = [2.0, 1.0, 0.5]
    true, seen_ = releases(sigmas)
    found = filtered(sigmas, seen_)
    best = 1.0 / sum(sigma**-2 for sigma in sigmas)
    assert np.mean((found.mean - true) ** 2) == pytest.approx(best, rel=0.08)
    assert 1.0 / found.precision.mean() == pytest.approx(best, rel=0.08)


def test_what_has_moved_is_believed_less() -> None:
    _, seen_ = releases([0.3, 0.3])
    moved = seen_[1] + 1.0
    found = filtered([0.3, 0.3], [seen_[0], moved])
    towards_new = float(np.mean(found.mean - seen_[0])) / float(np.mean(moved - seen_[0]))
    assert towards_new > 0.6
    assert found.precision.mean() < 1.6 * 0.3**-2


def test_scatter_of_single_ratings_never_averages_out() -> None:
    sigmas = [0.01] * 8
    true, _ = releases(sigmas)
    rng = np.random.default_rng(5)
    rated = true + 0.4 * rng.standard_normal(ITEMS)
    found = filtered(sigmas, [rated + 0.01 * rng.standard_normal(ITEMS) for _ in sigmas], scatter=0.16)
    assert np.mean((found.best(np.ones(ITEMS), NOTHING) - true) ** 2) == pytest.approx(0.08, rel=0.1)
