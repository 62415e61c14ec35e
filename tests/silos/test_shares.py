"""Noise in shares: its scale for every subset of honest silos, and the law of its sum."""

from __future__ import annotations

from itertools import combinations
from math import ceil, erf, exp, pi, sqrt

import numpy as np
import pytest

from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.shares import ShareNoise

SIZE = 60_000


@pytest.mark.parametrize(("count", "honest"), [(1, 1), (4, 3)])
def test_any_honest_shares_are_all_the_noise_there_must_be(count: int, honest: int) -> None:
    sigma = np.full(SIZE, 3000.0)
    shares = [ShareNoise(honest).integers(sigma) for _ in range(count)]
    room = 6.0 * sqrt(2.0 / SIZE)
    for chosen in combinations(shares, honest):
        assert abs(np.var(np.sum(chosen, axis=0)) / 3000.0**2 - 1.0) < room
    if honest > 1:
        fewer = np.var(np.sum(shares[: honest - 1], axis=0)) / 3000.0**2
        assert fewer < 1.0 - room, "fewer than the honest silos must not suffice, or the noise is wasted"


def test_matrices_are_symmetric_and_have_half_the_variance_beside_the_diagonal() -> None:
    order, honest = 3, 4
    shares = [ShareNoise(honest).symmetric_integers(np.full(SIZE // 6, 5000.0), order) for _ in range(honest)]
    total = np.sum(shares, axis=0)
    assert np.array_equal(total, total.transpose(0, 2, 1))
    assert np.array_equal(total, np.rint(total))
    variance = np.var(total, axis=0) / 5000.0**2
    room = 6.0 * sqrt(2.0 / len(total))
    assert np.abs(np.diag(variance) - 1.0).max() < room
    assert np.abs(variance[np.triu_indices(order, 1)] - 0.5).max() < room


def test_a_share_is_whole_and_finer_than_one_normal_number() -> None:
    """The second part is there, independent of the first and small."""
    sigma = np.full(SIZE, 2.0**40)
    share = ShareNoise(4, key=b"k").integers(sigma)
    first = Noise(key=b"k").integers(sigma / 2.0)
    rest = share - first
    assert np.array_equal(share, np.rint(share))
    assert abs(np.std(rest) / 2.0**28 - 1.0) < 0.03
    assert abs(np.corrcoef(rest, first)[0, 1]) < 0.03


def test_noise_too_large_for_whole_numbers_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match="53 bits"):
        ShareNoise(1).integers(np.array([2.0**46]))
    with pytest.raises(SettingsInvalid, match="honest"):
        ShareNoise(0)


def test_shares_of_two_silos_are_unrelated_and_cannot_be_predicted() -> None:
    sigma = np.full(SIZE, 1000.0)
    one, other = ShareNoise(2).integers(sigma), ShareNoise(2).integers(sigma)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.03
    assert not ShareNoise(2).fixed
    assert ShareNoise(2, key=b"k").fixed


def _rounded(scale: float, reach: int) -> np.ndarray:
    """Probabilities of rint(scale Z) at -reach .. reach."""
    edges = [0.5 * (1.0 + erf((k - 0.5) / (scale * sqrt(2.0)))) for k in range(-reach, reach + 2)]
    return np.diff(edges)


def _rounded_sum(scale: float, honest: int, reach: int) -> np.ndarray:
    """Probabilities of rint(N + U_1 + ... + U_(h-1)), N of scale sqrt(h) scale: the density of N + h uniforms."""
    cells = 200
    step = 1.0 / cells
    grid = np.arange(-(reach + honest) * cells, (reach + honest) * cells + 1) * step
    density = np.exp(-(grid**2) / (2.0 * honest * scale**2)) / (scale * sqrt(2.0 * pi * honest))
    box = np.ones(cells + 1)
    box[[0, -1]] = 0.5
    for _ in range(honest):
        density = np.convolve(density, box * step, mode="same")
    return density[honest * cells : -honest * cells or None : cells]


@pytest.mark.parametrize("honest", [1, 3])
@pytest.mark.parametrize("scale", [0.5, 1.0, 1.5])
def test_the_sum_of_rounded_parts_is_a_rounded_sum_within_the_proved_bound(scale: float, honest: int) -> None:
    """The bound of proofs/shares.md, where it is not yet beyond measure."""
    reach = ceil(9.0 * scale * sqrt(honest)) + 3
    single = _rounded(scale, reach)
    truth = single
    for _ in range(honest - 1):
        truth = np.convolve(truth, single)
    truth = truth[(honest - 1) * reach : len(truth) - (honest - 1) * reach]
    target = _rounded_sum(scale, honest, reach)
    aliasing = 2.1 * exp(-((scale * pi) ** 2) / 2.0)
    bound = (honest + 1) * aliasing * (1.0 + aliasing) ** honest
    assert len(truth) == len(target) == 2 * reach + 1
    assert abs(target.sum() - 1.0) < 1e-6
    # 1e-5 is the quadrature's own error.
    assert np.abs(truth - target).max() <= bound + 1e-5
    if scale == 1.5:
        assert np.abs(truth - target).max() < 1e-5
