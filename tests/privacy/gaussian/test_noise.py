"""Noise: the right size, the right shape, never twice, and from a source nobody can predict."""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from randomgen import AESCounter

from discreet import kernels
from discreet.privacy.gaussian import noise as noise_module
from discreet.privacy.gaussian.noise import Noise
from tests.privacy.checks.noise import (
    check_noise_is_fresh,
    check_noise_is_whole,
    check_source_is_cryptographic,
    check_symmetric_noise,
    check_uncorrelated,
    check_variance,
)
from tests.privacy.worlds import Floats

MANY = 4_000_000
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
    check_symmetric_noise()


def test_one_number_per_entry_of_the_triangle() -> None:
    """No entry of a symmetric matrix reuses another one's number, in any order of matrix."""
    matrices = Noise().symmetric_integers(np.full(1, 1e12), 40)[0]
    assert len(np.unique(np.abs(matrices))) == 40 * 41 // 2


def test_noise_is_whole_numbers() -> None:
    check_noise_is_whole()


def test_scale_of_each_entry_is_its_own() -> None:
    sigma = np.repeat([2e3, 3e4, 5e6], 200_000).reshape(3, -1)
    for row, wanted in zip(Noise().integers(sigma), sigma[:, 0], strict=True):
        check_variance(row, wanted)


def test_source_is_cryptographic_and_keyed_by_the_system() -> None:
    check_source_is_cryptographic()


def test_no_noise_is_used_twice() -> None:
    check_noise_is_fresh()


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
