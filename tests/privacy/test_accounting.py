"""Exact Gaussian accounting, against three independent sources.

- mpmath with 50 digits is the truth: the formula itself, evaluated without rounding.
- dp-accounting's privacy loss distributions (PLD) know nothing of the formula for compositions: they convolve
  discretised losses. Two things have to be tamed to compare at 1e-6. The grid: losses are spread over their
  two neighbours on it, which raises epsilon by some (step / mu)^2 / 8, mu being that of a typical release; so
  the step follows mu instead of being the default 1e-4, and no tail is cut. And the noise of their FFT, some
  1e-17 of delta: at delta 1e-12 it moves epsilon by up to 5e-6 either way, also below the truth. Below 1e-10
  we therefore compare at 1e-6 only runs of one or two releases, which their
  ``get_delta_for_epsilon_for_composed_pld`` sums without FFT, and longer ones at 1e-5.
- dp-accounting's analytic Gaussian, which is the same formula in another's hands.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import mpmath
import pytest
from dp_accounting import GaussianDpEvent, SelfComposedDpEvent, gaussian_mechanism
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetInvalid
from discreet.privacy.accounting import (
    compose,
    delta_from,
    epsilon_from,
    epsilon_renyi,
    mu_from,
    mu_renyi,
)

PLD = privacy_loss_distribution.PrivacyLossDistribution

epsilons = st.floats(-2, 2).map(lambda x: 10.0**x)
deltas = st.floats(-12, -3).map(lambda x: 10.0**x)


def true_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(50):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def true_mu(mus: Iterable[float]) -> mpmath.mpf:
    with mpmath.workdps(50):
        return mpmath.sqrt(sum(mpmath.mpf(mu) ** 2 for mu in mus))


@dataclass(frozen=True)
class Run:
    """A composition: the costs of its releases, the delta asked for, and dp-accounting's view of it."""

    mus: tuple[float, ...]
    delta: float
    plds: tuple[PLD, ...]

    def pld_differs(self, epsilon: float) -> bool:
        """Whether the PLD's epsilon lies further away than its own arithmetic explains."""
        if self.delta < 1e-10 and len(self.plds) == 2:
            first, second = self.plds
            # Their delta falls with epsilon, so that this asks for the same 1e-6 of epsilon as below.
            below, above = (
                first.get_delta_for_epsilon_for_composed_pld(second, epsilon * side)
                for side in (1.0 - 1e-6, 1.0 + 1e-6)
            )
            return not below >= self.delta >= above
        tolerance = 1e-6 if self.delta >= 1e-10 or len(self.plds) == 1 else 1e-5
        theirs = _convolved(self.plds).get_epsilon_for_delta(self.delta)
        return not abs(theirs - epsilon) <= tolerance * theirs


def _convolved(plds: Sequence[PLD]) -> PLD:
    """Compose in pairs, as a tree."""
    while len(plds) > 1:
        pairs = [plds[i : i + 2] for i in range(0, len(plds), 2)]
        plds = [reduce(lambda a, b: a.compose(b, tail_mass_truncation=0.0), pair) for pair in pairs]
    return plds[0]


def _pool(rng: random.Random, top: float) -> list[tuple[float, PLD]]:
    """Six releases of different costs on one grid, fine enough for 1e-6 of epsilon when composed."""
    mus = [top * rng.uniform(0.6, 1.0) for _ in range(6)]
    make = privacy_loss_distribution.from_gaussian_mechanism
    return [(mu, make(1.0 / mu, value_discretization_interval=1.2e-3 * top)) for mu in mus]


def _run(rng: random.Random, pool: Sequence[tuple[float, PLD]], size: int, delta: float) -> Run:
    mus, plds = zip(*rng.choices(pool, k=size), strict=True)
    return Run(mus, delta, plds)


def _runs(seed: int) -> Iterator[Run]:
    """Random runs with epsilon from 0.01 to 100 and delta from 1e-12 to 1e-3: 1,000 and 20 more at 1e-5."""
    rng = random.Random(seed)
    pools = [_pool(rng, 12.0 * 1.5**-scale) for scale in range(24)]
    kinds = [(820, 1, 8, -10, -3), (150, 1, 2, -12, -10), (30, 9, 50, -10, -3), (20, 3, 20, -12, -10)]
    for count, shortest, longest, least, most in kinds:
        while count > 0:
            size, delta = rng.randint(shortest, longest), 10.0 ** rng.uniform(least, most)
            run = _run(rng, rng.choice(pools), size, delta)
            sigma = 1.0 / math.hypot(*run.mus)
            if 0.01 <= gaussian_mechanism.get_epsilon_gaussian(sigma, delta) <= 100.0:
                count -= 1
                yield run


def _wrong(run: Run) -> str | None:
    """What is wrong with our epsilon: away from the PLD, or below the truth by any amount."""
    epsilon = epsilon_from(compose(run.mus), run.delta)
    if run.pld_differs(epsilon):
        return f"{epsilon} differs from the PLD"
    if true_delta(true_mu(run.mus), epsilon) > run.delta:
        return f"{epsilon} promises too much"
    return None


@pytest.mark.slow
def test_agrees_with_convolved_privacy_losses_on_a_thousand_runs() -> None:
    wrong, epsilons_seen = [], []
    for run in _runs(seed=1):
        epsilons_seen.append(epsilon_from(compose(run.mus), run.delta))
        if reason := _wrong(run):
            wrong.append(f"{run.mus} at delta {run.delta}: {reason}")
    assert not wrong, wrong[:5]
    assert len(epsilons_seen) == 1_020
    assert min(epsilons_seen) < 0.02
    assert max(epsilons_seen) > 80.0


@pytest.fixture(scope="module")
def few_runs() -> list[Run]:
    rng = random.Random(5)
    pool = _pool(rng, 0.5)
    return [_run(rng, pool, size, delta) for size, delta in ((3, 1e-6), (2, 1e-12), (5, 1e-3))]


def test_few_runs_agree(few_runs: list[Run]) -> None:
    assert [_wrong(run) for run in few_runs] == [None] * 3


def test_against_fifty_digits_far_beyond_the_usual_range() -> None:
    rng = random.Random(2)
    for _ in range(400):
        mu, cut = 10.0 ** rng.uniform(-7, 2), rng.uniform(-36.0, 4.0)
        epsilon = max(0.0, (mu / 2.0 - cut) * mu)
        ours, truth = delta_from(mu, epsilon), true_delta(mu, epsilon)
        assert truth <= ours <= truth * (1 + mpmath.mpf(2e-10)), (mu, epsilon)


def test_epsilon_and_mu_against_fifty_digits() -> None:
    """At the result the promise is true; 1e-9 further (of epsilon, of mu) it is false."""
    rng = random.Random(3)
    for _ in range(200):
        mus = [10.0 ** rng.uniform(-3, 0.3) for _ in range(rng.randint(1, 50))]
        delta = 10.0 ** rng.uniform(-12, -3)
        epsilon, mu = epsilon_from(compose(mus), delta), true_mu(mus)
        assert true_delta(mu, epsilon) <= delta
        assert epsilon == 0.0 or true_delta(mu, epsilon * (1 - 1e-9)) > delta
        target = 10.0 ** rng.uniform(-2, 2)
        bought = mu_from(target, delta)
        assert true_delta(bought, target) <= delta < true_delta(bought * (1 + 1e-9), target)


def test_k_times_costs_k_times_also_in_their_accountant() -> None:
    """Each release told on its own, and by a count, which some of their other events ignore."""
    for k in (1, 2, 7):
        one_by_one = PLDAccountant(value_discretization_interval=2e-4)
        for _ in range(k):
            one_by_one.compose(GaussianDpEvent(noise_multiplier=4.0))
        counted = PLDAccountant(value_discretization_interval=2e-4)
        counted.compose(SelfComposedDpEvent(GaussianDpEvent(noise_multiplier=4.0), k))
        ours = epsilon_from(compose([0.25] * k), 1e-6)
        assert one_by_one.get_epsilon(1e-6) == pytest.approx(ours, rel=1e-6)
        assert counted.get_epsilon(1e-6) == pytest.approx(ours, rel=1e-6)
        assert compose([0.25] * k) == pytest.approx(0.25 * math.sqrt(k), rel=1e-15)


@settings(max_examples=300, deadline=None)
@given(epsilon=epsilons, delta=deltas)
def test_inverses_keep_the_promise(epsilon: float, delta: float) -> None:
    mu = mu_from(epsilon, delta)
    assert delta_from(mu, epsilon) <= delta
    assert epsilon_from(mu, delta) <= epsilon * (1 + 1e-12)
    assert epsilon_from(mu, delta) == pytest.approx(epsilon, rel=1e-8)
    assert delta_from(mu * (1 + 1e-12), epsilon) <= delta  # what a ledger may accept
    assert mu_renyi(epsilon, delta) < mu
    assert epsilon_renyi(mu, delta) > epsilon
    assert epsilon_renyi(mu_renyi(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-12)


@settings(max_examples=200, deadline=None)
@given(epsilon=epsilons, delta=deltas, share=st.floats(0.01, 0.99))
def test_extra_delta_is_taken_off_first(epsilon: float, delta: float, share: float) -> None:
    mu = mu_from(epsilon, delta, share * delta)
    assert mu < mu_from(epsilon, delta)
    assert delta_from(mu, epsilon) + share * delta <= delta
    assert epsilon_from(mu, delta, share * delta) <= epsilon * (1 + 1e-12)


def test_nothing_left_of_delta() -> None:
    assert mu_from(1.0, 1e-6, 1e-6) == 0.0
    assert mu_from(1.0, 1e-6, 2e-6) == 0.0
    assert epsilon_from(0.1, 1e-6, 1e-6) == math.inf


def test_the_ends() -> None:
    assert compose([]) == 0.0
    assert compose([1.0, math.inf]) == math.inf
    assert compose([3e-200, 4e-200]) == pytest.approx(5e-200)  # squares would vanish
    assert (delta_from(0.0, 0.0), epsilon_from(0.0, 1e-6)) == (0.0, 0.0)
    assert (delta_from(math.inf, 5.0), epsilon_from(math.inf, 1e-6)) == (1.0, math.inf)
    assert delta_from(1e-3, 100.0) > 0.0  # below every double, yet not nothing
    for epsilon in (1e-300, 1e4, 1e15, 1e300):
        for delta in (1e-300, 0.5, 1.0 - 2.0**-53):
            assert delta_from(mu_from(epsilon, delta), epsilon) <= delta


@pytest.mark.parametrize("bad", [-1.0, math.nan, -math.inf])
def test_nonsense_is_refused(bad: float) -> None:
    for call in (
        lambda: compose([0.1, bad]),
        lambda: delta_from(bad, 1.0),
        lambda: delta_from(0.1, bad),
        lambda: epsilon_from(bad, 1e-6),
        lambda: epsilon_from(0.1, bad),
        lambda: epsilon_from(0.1, 1e-6, bad),
        lambda: mu_from(bad, 1e-6),
        lambda: mu_from(1.0, bad),
        lambda: epsilon_renyi(bad, 1e-6),
        lambda: mu_renyi(1.0, bad),
    ):
        with pytest.raises(BudgetInvalid):
            call()


# Table 4 of the DPALS paper, ML-10M: k ratings a user, T rounds, noise of matrix, vector and preprocessing.
ML10M = {
    1: (50, 2, 125.9, 63.0, 100.0),
    5: (50, 2, 27.8, 13.9, 20.0),
    10: (50, 2, 15.5, 7.7, 10.0),
    20: (50, 2, 7.5, 3.8, 10.0),
}


def _dpals_mu(column: int, counting: str) -> float:
    """Cost of a DPALS run: as its authors count, as theorem 1 prints it (matrix only), or as really owed.

    The owed one has 2k for the mean: a user's k ratings move its sum and its count by k each, not sqrt(k).
    """
    k, rounds, sigma_matrix, sigma_vector, sigma_preprocessing = ML10M[column]
    vector = 0.0 if counting == "theorem" else 1.0 / sigma_vector**2
    preprocessing = 4 * k if counting == "owed" else 2 * k + 2
    squares = rounds * k * (1.0 / sigma_matrix**2 + vector) + preprocessing / sigma_preprocessing**2
    return math.sqrt(squares)


@pytest.mark.parametrize(
    ("column", "counting", "golden"),
    [
        (1, "paper", 1.001),
        (5, "paper", 5.008),
        (10, "paper", 10.041),
        (20, "paper", 19.824),
        (1, "theorem", 0.625),
        (1, "owed", 1.115),
    ],
)
def test_golden_numbers_of_the_paper(column: int, counting: str, golden: float) -> None:
    assert epsilon_renyi(_dpals_mu(column, counting), 1e-5) == pytest.approx(golden, abs=5e-4)


def test_golden_number_of_the_exact_conversion() -> None:
    assert epsilon_from(_dpals_mu(1, "owed"), 1e-5) == pytest.approx(0.833, abs=5e-4)
