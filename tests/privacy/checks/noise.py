"""Noise: its scale with power against 1 %, its shape, its source."""

from __future__ import annotations

import secrets
from unittest import mock

import numpy as np
from randomgen import AESCounter

from discreet.privacy.gaussian.blocks import Pattern, UserVector
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.item_blocks import ItemVector
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger
from tests.privacy.worlds import BUDGET, MU, Floats

# Chance of a false alarm: two in a thousand million for each comparison.
MOST_STANDARD_ERRORS = 6.0
_real_randbits = secrets.randbits


def check_variance(values: Floats, sigma: float) -> None:
    """The mean square is that of Gaussian numbers of this scale; at 1 % off this needs 400,000 numbers to fail."""
    error = float((values.ravel() ** 2).mean()) / sigma**2 - 1.0
    errors = error / np.sqrt(2.0 / values.size)
    assert abs(errors) < MOST_STANDARD_ERRORS, (
        f"scale is off by {error / 2:.3%} ({errors:.1f} standard errors)"
    )


def check_uncorrelated(one: Floats, other: Floats) -> None:
    """No correlation between two rows of numbers of the same length."""
    scale = np.sqrt(float((one**2).sum()) * float((other**2).sum()))
    errors = float((one * other).sum()) / scale * np.sqrt(one.size)
    assert abs(errors) < MOST_STANDARD_ERRORS, f"correlated: {errors:.1f} standard errors"


def check_item_noise(order: int = 400_000) -> None:
    """What the gate adds to an item's sums is Gaussian of scale unit / (mu c_j), for each item by its own weight."""
    weights = np.array([0.5, 1.0, 2.0, 8.0])
    pattern = Pattern(np.zeros(2, np.int64), np.empty(0, np.int32), 4)
    features, targets = np.zeros((1, order), np.int16), np.empty(0, np.int16)
    block = ItemVector("sums", 2.0**29, pattern, weights, features, targets)
    released = Gate(Ledger(BUDGET)).release("noise alone", [block], mu=0.1)["sums"]
    for row, weight in zip(released, weights, strict=True):
        check_variance(row, 2.0**29 / (0.1 * weight))
    check_uncorrelated(released[0], released[1])
    check_uncorrelated(released[0, 1:], released[0, :-1])


def check_symmetric_noise(number: int = 400_000) -> None:
    """Symmetrised noise: scale sigma on the diagonal, sigma / sqrt(2) beside it, nothing else in common."""
    matrices = Noise().symmetric_integers(np.full(number, 1e6), 3)
    assert np.array_equal(matrices, matrices.transpose(0, 2, 1))
    for a in range(3):
        check_variance(matrices[:, a, a], 1e6)
        check_variance(matrices[:, a, (a + 1) % 3], 1e6 / np.sqrt(2.0))
        check_uncorrelated(matrices[:, a, a], matrices[:, (a + 1) % 3, (a + 1) % 3])
        check_uncorrelated(matrices[:, a, a], matrices[:, a, (a + 1) % 3])
        check_uncorrelated(matrices[:, a, (a + 1) % 3], matrices[:, a, (a + 2) % 3])
    different = Noise().symmetric_integers(np.repeat([1e4, 1e8], number), 2)
    check_variance(different[:number, 0, 1], 1e4 / np.sqrt(2.0))
    check_variance(different[number:, 1, 1], 1e8)


def check_noise_is_whole() -> None:
    """Noise lies on the integers, so that an exact sum plus noise is a rounded noisy sum."""
    noise = Noise()
    for values in (noise.integers(np.full(1000, 1234.5)), noise.symmetric_integers(np.full(100, 1234.5), 4)):
        assert np.array_equal(values, np.rint(values))


def check_noise_is_fresh() -> None:
    """No two releases share noise, neither in one run nor in two, nor do blocks of one long draw."""
    gate, other = Gate(Ledger(BUDGET)), Gate(Ledger(BUDGET))
    block = UserVector("nothing", 2.0**40, np.zeros((1, 50_000), np.int32))
    seen = [gate.release("once more", [block], mu=MU)["nothing"] for gate in (gate, gate, other)]
    noise = Noise()
    seen += [noise.normals(50_000), Noise().normals(50_000)]
    for long in (noise.normals(2**16 + 50_000), noise.normals(2**16 + 50_000)):
        seen += [long[:50_000], long[2**16 :]]
    for index, one in enumerate(seen):
        for another in seen[:index]:
            check_uncorrelated(one, another)


def check_source_is_cryptographic() -> None:
    """Every block of every draw is AES in counter mode under a 128-bit key of its own from the system's entropy."""
    keys: list[int] = []

    def randbits(bits: int) -> int:
        assert bits == 128
        keys.append(_real_randbits(bits))
        return keys[-1]

    noise = Noise()
    with mock.patch.object(secrets, "randbits", randbits):
        drawn = [noise.normals(size) for size in (5, 2**16 + 7, 3)]
    assert len(keys) == len(set(keys)) == 4, f"{len(keys)} keys for four blocks"
    wanted = [np.random.Generator(AESCounter(key=key)).standard_normal(2**16) for key in keys]
    assert np.array_equal(drawn[0], wanted[0][:5])
    assert np.array_equal(drawn[1], np.concatenate([wanted[1], wanted[2][:7]]))
    assert np.array_equal(drawn[2], wanted[3][:3])
