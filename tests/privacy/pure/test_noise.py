"""Geometric noise has the probabilities the proofs use, to the word."""

from __future__ import annotations

import math
import secrets
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.privacy.pure import noise as pure_noise
from discreet.privacy.pure.noise import PureNoise, binomial_above, check_silent, rate_at_most


@given(st.floats(1e-9, 1e6))
def test_rates_are_rounded_toward_more_noise(value: float) -> None:
    rate = rate_at_most(value)
    assert rate <= Fraction(value)
    if value <= 2**19:
        assert rate >= Fraction(value) * Fraction(999, 1000)
    assert rate.denominator <= 2**44


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan, 1e-30])
def test_impossible_rates_are_refused(value: float) -> None:
    with pytest.raises(BudgetInvalid):
        rate_at_most(value)


class OneTape(PureNoise):
    """Words off one tape, so that it can be seen whether the size of a helping matters."""

    def __init__(self) -> None:
        super().__init__()
        self.tape = np.random.default_rng(3).integers(0, 2**64, 200_000, dtype=np.uint64)
        self.at = 0

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        self.at += size
        return self.tape[self.at - size : self.at]


def test_a_number_cut_off_by_the_end_of_words_ends_as_it_would_have(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = OneTape().two_sided(rate_at_most(0.3), 3000)
    monkeypatch.setattr(pure_noise, "_WORDS", 3)
    monkeypatch.setattr(pure_noise, "_WORDS_EACH", 0)
    assert (OneTape().two_sided(rate_at_most(0.3), 3000) == whole).all()


def test_only_a_fixed_key_repeats_and_says_so() -> None:
    rate = rate_at_most(0.01)
    first, second = (PureNoise.fixed_key_not_private("k") for _ in range(2))
    assert (first.geometric(rate, 50) == second.geometric(rate, 50)).all()
    assert first.fixed
    assert not PureNoise().fixed
    assert (PureNoise().geometric(rate, 50) != PureNoise().geometric(rate, 50)).any()
    assert first.bits(70) < 2**70


def test_words_are_those_of_aes_under_keys_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encrypted counters, by an implementation of AES that is not the generator's own; a key for each helping."""
    keys = [secrets.randbits(128) for _ in range(2)]
    drawn = iter(keys)
    monkeypatch.setattr(secrets, "randbits", lambda bits: next(drawn))
    noise = PureNoise()
    for key in keys:
        aes = Cipher(AES(key.to_bytes(16, "little")), ECB()).encryptor()
        counters = b"".join(counter.to_bytes(16, "little") for counter in range(50))
        assert noise.words(100).astype("<u8").tobytes() == aes.update(counters)


def test_silent_cells_of_a_huge_universe() -> None:
    noise = PureNoise.fixed_key_not_private("h")
    rate, cells = rate_at_most(0.5), 2**74
    threshold = math.ceil(74 * math.log(2) / 0.5)
    mean = np.mean([binomial_above(cells, rate, threshold, noise.bits) for _ in range(300)])
    assert 0.3 < mean < 1.2
    assert binomial_above(0, rate, threshold, noise.bits) == 0


@pytest.mark.parametrize(("last", "outcome"), [(0, 0), (1, 1)])
def test_more_digits_are_drawn_where_the_first_do_not_decide(last: int, outcome: int) -> None:
    rate, threshold = rate_at_most(0.5), 6
    with localcontext() as context:
        context.prec = 2000
        step = Decimal(rate.numerator) / Decimal(rate.denominator)
        edge = 1 - (-step * threshold).exp() / (1 + (-step).exp())
        known = int(edge * 2**3000)
    asked: list[int] = []

    def bits(count: int) -> int:
        """The digits of the very edge between 0 and 1 for a while, then all the same digit."""
        start = sum(asked)
        asked.append(count)
        if len(asked) > 2:
            return last * ((1 << count) - 1)
        return (known >> (3000 - start - count)) & ((1 << count) - 1)

    assert binomial_above(1, rate, threshold, bits) == outcome
    assert len(asked) >= 3


def test_thresholds_that_let_everything_pass_are_refused() -> None:
    with pytest.raises(SettingsInvalid, match="empty cells"):
        check_silent(2**74, rate_at_most(0.01), 10)
    with pytest.raises(SettingsInvalid, match="at least one"):
        check_silent(4, rate_at_most(0.01), 0)
    check_silent(2**74, rate_at_most(0.01), 10_000)
