"""The gate without delta: what it releases has the proved distribution, and neighbours are as close as charged."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from discreet.errors import BudgetExceeded, RatingsInvalid
from discreet.privacy.pure.gate import Contributions, PureGate
from discreet.privacy.pure.ledger import PureLedger
from discreet.privacy.pure.noise import PureNoise
from discreet.types import Ints

FAR = 120


def tail_p(sample: npt.NDArray[np.int64], rate: float, *, two_sided: bool) -> float:
    """p-value of a chi-square test against the stated distribution."""
    decay = math.exp(-rate)
    top = int(6 / rate) + 2
    values = np.arange(-top, top + 1) if two_sided else np.arange(0, top + 1)
    weight = (1 - decay) / (1 + decay) if two_sided else 1 - decay
    expected = weight * decay ** np.abs(values) * len(sample)
    counts = np.array([(sample == value).sum() for value in values], dtype=float)
    fine = expected >= 10
    observed = np.append(counts[fine], len(sample) - counts[fine].sum())
    wanted = np.append(expected[fine], len(sample) - expected[fine].sum())
    return float(stats.chisquare(observed, wanted).pvalue)


def gate(epsilon: float = 1e6) -> PureGate:
    """A fresh ledger each time: one of thousands of charges is slow to add up."""
    return PureGate(PureLedger(epsilon))


def lowest_chances(losses: list[int], rate: float) -> npt.NDArray[np.float64]:
    """Exact probabilities of the noisy minimum, summed over all noises of the winner."""
    tail = np.exp(-rate * np.arange(FAR + 1))
    mass = tail * (1 - math.exp(-rate))
    chances = []
    for r, own in enumerate(losses):
        total = 0.0
        for z in range(FAR):
            win = 1.0
            for s, other in enumerate(losses):
                if s != r:
                    # s loses if other - z_s > own - z, or equal where r comes first.
                    reach = other - own + z - (0 if r < s else 1)
                    win *= 0.0 if reach < 0 else 1.0 - math.exp(-rate * (reach + 1))
            total += mass[z] * win
        chances.append(total)
    return np.array(chances)


def test_noisy_minimum_has_the_proved_distribution() -> None:
    losses, rate = np.array([3, 0, 1, 7]), 0.4
    found = [gate().lowest("x", lambda: losses, bound=5, epsilon=rate * 5) for _ in range(5000)]
    observed = np.bincount(found, minlength=4)
    assert stats.chisquare(observed, _to(5000, lowest_chances(losses.tolist(), rate))).pvalue > 1e-8
    assert stats.chisquare(observed, _to(5000, lowest_chances(losses.tolist(), rate * 1.3))).pvalue < 1e-8


def test_noisy_minimum_is_private_for_losses_that_rise() -> None:
    bound, epsilon = 2, 0.8
    base = [3, 0, 1]
    worst = 0.0
    for raised in itertools.product(range(bound + 1), repeat=3):
        before = lowest_chances(base, epsilon / bound)
        after = lowest_chances([a + b for a, b in zip(base, raised, strict=True)], epsilon / bound)
        worst = max(worst, float(np.abs(np.log(before / after)).max()))
    assert worst <= epsilon + 1e-9
    assert worst > 0.9 * epsilon


def counts_of(users: list[list[int]], groups: int, cells: int) -> Contributions:
    owner = np.repeat(np.arange(len(users)), [len(row) for row in users])
    where = np.array([cell for row in users for cell in row], dtype=np.int64)
    return Contributions(owner, where, np.ones_like(where), len(users), groups * cells)


def test_one_shot_selection_has_the_proved_distribution() -> None:
    given = counts_of([[0, 1], [0], [0, 2], [0, 1]], 1, 4)
    rate = 0.6
    sets = [
        tuple(gate().top("x", given, groups=1, most=2, user_cells=2, epsilon=2 * rate)[0])
        for _ in range(3000)
    ]
    pairs = list(itertools.combinations(range(4), 2))
    observed = np.array([sets.count(pair) for pair in pairs])
    draws = np.random.default_rng(0).geometric(1 - math.exp(-rate), (200_000, 4)) - 1
    noisy = np.sort(np.argsort(-(draws + np.array([4, 2, 1, 0])), axis=1, kind="stable")[:, :2], axis=1)
    simulated = np.array([(noisy == pair).all(axis=1).sum() for pair in pairs])
    assert stats.chi2_contingency(np.stack([observed, simulated])).pvalue > 1e-8


@pytest.mark.parametrize("extra", [[0], [3], [0, 1], [2, 3]])
def test_one_shot_selection_is_private(extra: list[int]) -> None:
    """Enumerated: sets of 2 out of 4 with geometric noise on 24 values each (the rest is below 1e-7)."""
    epsilon, most, steps = 1.4, 2, 24
    rate = epsilon / most
    mass = np.exp(-rate * np.arange(steps)) * (1 - math.exp(-rate))

    def chances(counts: Ints) -> dict[tuple[int, ...], float]:
        grid = np.stack(np.meshgrid(*[np.arange(steps)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
        order = np.sort(np.argsort(-(grid + counts), axis=1, kind="stable")[:, :most], axis=1)
        weight = mass[grid].prod(axis=1)
        return {
            pair: float(weight[(order == pair).all(axis=1)].sum())
            for pair in itertools.combinations(range(4), 2)
        }

    counts = np.array([2, 1, 0, 1])
    raised = counts.copy()
    raised[extra] += 1
    before, after = chances(counts), chances(raised)
    worst = max(abs(math.log(before[pair] / after[pair])) for pair in before)
    assert worst <= epsilon + 1e-5


@pytest.mark.parametrize(("bound", "epsilon"), [(1, 0.3), (4, 1.2), (10, 20.0)])
def test_sums_have_the_noise_that_was_paid_for_and_no_less(bound: int, epsilon: float) -> None:
    exact = np.arange(50_000) % (bound + 1)
    users = np.arange(len(exact))
    given = Contributions(users, users, exact, len(exact), len(exact))
    noise = gate().sums("x", given, bound=bound, epsilon=epsilon) - exact
    rate = epsilon / bound
    assert tail_p(noise, rate, two_sided=True) > 1e-8
    for wrong in (0.9 * rate, 1.1 * rate):
        assert tail_p(noise, wrong, two_sided=True) < 1e-8


def test_where_users_have_few_items_all_counts_are_noised_on_both_sides() -> None:
    """A choice of more items than a user has is a choice by noisy counts: two-sided noise for each item of a user."""
    counts, rate, runs = np.array([3, 2, 1, 0]), 0.8, 3000
    given = counts_of([[0], [0], [0], [1], [1], [2]], 1, 4)
    sets = [
        tuple(gate().top("x", given, groups=1, most=2, user_cells=1, epsilon=rate)[0]) for _ in range(runs)
    ]
    pairs = list(itertools.combinations(range(4), 2))
    observed = np.array([sets.count(pair) for pair in pairs])
    rng, shape = np.random.default_rng(0), (200_000, 4)
    up, down = (rng.geometric(1 - math.exp(-rate), shape) for _ in range(2))
    for draws, right in ((up - down, True), (up, False)):
        noisy = np.sort(np.argsort(-(draws + counts), axis=1, kind="stable")[:, :2], axis=1)
        simulated = np.array([(noisy == pair).all(axis=1).sum() for pair in pairs])
        p = stats.chi2_contingency(np.stack([observed, simulated])).pvalue
        assert (p > 1e-8) == right


def test_who_exceeds_a_bound_or_counts_twice_is_silenced() -> None:
    loud = Contributions(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5, -5, 3]), 2, 2)
    assert loud.bounded(10).total().tolist() == [5, -2]
    assert loud.bounded(9).total().tolist() == [0, 3]
    twice = counts_of([[0, 0, 1], [1]], 1, 2)
    assert twice.at_most_once().total().tolist() == [0, 1]
    heavy = Contributions(np.array([0, 1]), np.array([0, 0]), np.array([7, 1]), 2, 1)
    assert heavy.at_most_once().total().tolist() == [1]


@pytest.mark.parametrize("amounts", [[-(2**63)], [2**62] * 4, [2**63 - 1, 2**63 - 1, 2], [2**52] * 2**12])
def test_nobody_is_too_loud_to_be_heard_as_such(amounts: list[int]) -> None:
    """Amounts whose sizes pass 64 bits are beyond every bound, not below it."""
    size = len(amounts)
    loud = Contributions(np.zeros(size, dtype=np.int64), np.arange(size), np.array(amounts), 1, size)
    assert not loud.bounded(2**52).total().any()


def test_a_user_in_two_groups_ends_the_run() -> None:
    with pytest.raises(RatingsInvalid, match="more than one group"):
        gate().top("x", counts_of([[0, 3]], 2, 2), groups=2, most=1, user_cells=4, epsilon=1.0)
    with pytest.raises(RatingsInvalid, match="known cell"):
        counts_of([[5]], 1, 2)


def test_groups_are_chosen_from_apart() -> None:
    given = counts_of([[0]] * 50 + [[5]] * 50, 2, 3)
    found = gate().top("x", given, groups=2, most=1, user_cells=1, epsilon=5.0)
    assert found.tolist() == [[0], [2]]


def test_crowded_cells_pass_as_if_every_cell_had_its_noise() -> None:
    rate, threshold, runs = 0.5, 3, 2000
    keys = np.array([[1]] * 4 + [[6]] * 2, dtype=np.uint8)

    def draw(noise: PureNoise) -> npt.NDArray[np.uint8]:
        return np.array([noise.bits(3)], dtype=np.uint8)

    passed = np.zeros(8)
    for _ in range(runs):
        found = gate().crowded("x", keys, universe=8, draw=draw, threshold=threshold, epsilon=rate)
        assert (np.diff(found.ravel().astype(int)) > 0).all()
        passed[found.ravel()] += 1
    counts = np.array([0, 4, 0, 0, 0, 0, 2, 0])
    tail = np.where(
        counts < threshold,
        np.exp(-rate * (threshold - counts)) / (1 + math.exp(-rate)),
        1 - np.exp(-rate * (counts - threshold + 1)) / (1 + math.exp(-rate)),
    )
    assert (np.abs(passed / runs - tail) < 6.0 * np.sqrt(tail * (1 - tail) / runs)).all()


def test_users_above_a_bound_are_not_in_the_sums() -> None:
    given = Contributions(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5000, 5000, 3]), 2, 2)
    assert (np.abs(gate().sums("x", given, bound=9_999, epsilon=1e5)) < 500).all()
    assert gate().sums("x", given, bound=10_000, epsilon=1e5)[0] > 4_500


def test_who_names_an_item_twice_is_not_in_the_choice() -> None:
    given = counts_of([[0, 0], [0, 0], [1]], 1, 3)
    for most in (1, 2):
        assert 1 in gate().top("x", given, groups=1, most=most, user_cells=2, epsilon=500.0)[0]
    assert gate().top("x", given, groups=1, most=1, user_cells=2, epsilon=500.0).tolist() == [[1]]


def test_everything_is_charged_before_it_is_computed() -> None:
    one = gate(epsilon=1.0)
    touched: list[int] = []

    def losses() -> Ints:
        touched.append(1)
        return np.zeros(2, dtype=np.int64)

    one.lowest("x", losses, bound=1, epsilon=0.6)
    with pytest.raises(BudgetExceeded):
        one.lowest("x", losses, bound=1, epsilon=0.6)
    assert len(touched) == 1
    assert one.ledger.spent == 0.6


def _to(total: int, chances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return total * chances / chances.sum()
