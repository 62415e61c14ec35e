"""Noise: the right size, the right shape, never twice, and from a source nobody can predict."""

from __future__ import annotations

import secrets
from unittest import mock

import numpy as np
import pytest
from randomgen import AESCounter

from discreet import kernels
from discreet.privacy.gaussian import noise as noise_module
from discreet.privacy.gaussian.blocks import UserVector
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger
from tests.privacy.checks.noise import check_uncorrelated, check_variance
from tests.privacy.worlds import BUDGET, MU, Floats

MANY = 4_000_000
_real_randbits = secrets.randbits
pytestmark = pytest.mark.fresh


@pytest.fixture(scope="module")
def drawn() -> Floats:
    return Noise().normals(MANY)


def test_scale_is_right_and_one_percent_off_would_show(drawn: Floats) -> None:
    check_variance(drawn, 1.0)
    for wrong in (0.99, 1.01):
        with pytest.raises(AssertionError, match="scale is off"):
            check_variance(drawn, wrong)
        with pytest.raises(AssertionError, match="scale is off"):
            check_variance(drawn[:100_000] * wrong, wrong * 1.03)


def test_numbers_have_nothing_in_common(drawn: Floats) -> None:
    for lag in (1, 2, 3, 64, 2**19, 2**20):
        check_uncorrelated(drawn[lag:], drawn[:-lag])
        check_uncorrelated(drawn[lag:] ** 2 - 1.0, drawn[:-lag] ** 2 - 1.0)
    assert len(np.unique(drawn)) > MANY - 10


def test_symmetric_noise_has_its_two_scales() -> None:
    """Symmetrised noise: scale sigma on the diagonal, sigma / sqrt(2) beside it, nothing else in common."""
    number = 400_000
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


def test_one_number_per_entry_of_the_triangle() -> None:
    """No entry of a symmetric matrix reuses another one's number, in any order of matrix."""
    matrices = Noise().symmetric_integers(np.full(1, 1e12), 40)[0]
    assert len(np.unique(np.abs(matrices))) == 40 * 41 // 2


def test_noise_is_whole_numbers() -> None:
    """Noise lies on the integers, so that an exact sum plus noise is a rounded noisy sum."""
    noise = Noise()
    for values in (noise.integers(np.full(1000, 1234.5)), noise.symmetric_integers(np.full(100, 1234.5), 4)):
        assert np.array_equal(values, np.rint(values))


def test_scale_of_each_entry_is_its_own() -> None:
    sigma = np.repeat([2e3, 3e4, 5e6], 200_000).reshape(3, -1)
    for row, wanted in zip(Noise().integers(sigma), sigma[:, 0], strict=True):
        check_variance(row, wanted)


def test_source_is_cryptographic_and_keyed_by_the_system() -> None:
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


def test_no_noise_is_used_twice() -> None:
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


@pytest.mark.parametrize(
    ("key", "block", "answer"),
    [
        (
            "000102030405060708090a0b0c0d0e0f",
            "00112233445566778899aabbccddeeff",
            "69c4e0d86a7b0430d8cdb78070b4c55a",
        ),
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            "ec8cdf7398607cb0f2d21675ea9ea1e4",
        ),
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "6bc1bee22e409f96e93d7e117393172a",
            "3ad77bb40d7a3660a89ecaf32466ef97",
        ),
    ],
)
def test_the_generator_is_aes(key: str, block: str, answer: str) -> None:
    """Known answers of FIPS 197 (C.1) and NIST SP 800-38A (F.5.1, F.1.1): raw output is AES-128 of the counter."""
    number, counter = (int.from_bytes(bytes.fromhex(text), "little") for text in (key, block))
    raw = AESCounter(key=number, counter=counter).random_raw(2)
    assert raw.astype("<u8").tobytes().hex() == answer


def test_counters_rise_by_one() -> None:
    key = secrets.randbits(128)
    stream = AESCounter(key=key).random_raw(8)
    for position in range(4):
        one = AESCounter(key=key, counter=position).random_raw(2)
        assert np.array_equal(one, stream[2 * position : 2 * position + 2])


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_module, "_BLOCK", 1000)
    seen = []
    for threads in (1, 2, 5):
        source = Noise.fixed_key_not_private("threads")
        with kernels.threads(threads):
            seen.append((source.normals(9_999), source.symmetric_integers(np.full(500, 1e6), 7)))
    for normals, matrices in seen[1:]:
        assert np.array_equal(normals, seen[0][0])
        assert np.array_equal(matrices, seen[0][1])


def test_a_fixed_key_repeats_and_says_so() -> None:
    one, same = Noise.fixed_key_not_private("k"), Noise.fixed_key_not_private(b"k")
    assert one.fixed
    assert same.fixed
    assert not Noise().fixed
    first = one.normals(10)
    assert np.array_equal(first, same.normals(10))
    assert not np.array_equal(first, one.normals(10))
    assert not np.array_equal(first, Noise.fixed_key_not_private("another").normals(10))
    assert Noise.fixed_key_not_private("").fixed
