"""Every sampler that privacy rests on, as production code calls it, with the law it must have.

``times`` says how many draws are made for each one that is asked for: a fair coin that is off by 1e-4 needs more than
the hundred million draws that show a scale off by 0.1 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import numpy as np

from discreet.devices.device.answer import COIN_BITS, flip_threshold
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian import shares as shares_module
from discreet.privacy.gaussian.blocks import UserVector
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.shares import ShareNoise
from discreet.privacy.ledger import Ledger
from discreet.privacy.local.rotated import Coin, respond_to_sign
from discreet.privacy.pure.gate import Contributions, PureGate
from discreet.privacy.pure.ledger import PureLedger
from discreet.privacy.pure.noise import PureNoise, rate_at_most
from discreet.types import Floats, Ints
from reproduction.local.response import BITS, respond, thresholds
from tests.privacy.draws import laws
from tests.privacy.draws.inversion import CELLS, RATE, THRESHOLD, word_edges
from tests.privacy.draws.laws import Law
from tests.privacy.draws.tally import Tally, shift

CHUNK = 1 << 20
"""Draws held at once."""
MANY = 10**8
SCALE_OFF, COIN_OFF = 1e-3, 1e-4
"""What a hundred million draws must show."""

SIGMA, SMALL, HONEST = 8192.0, 3.0, 3
# The gate: noise of this scale leaves on steps of 2^19.
UNIT, MU = 2.0**30, 0.1
_STEP = 2.0**19
_SLOW = rate_at_most(0.05)
_EPSILON, _BOUND = 0.9, 3
_ANSWER = 1.0
# One answer in a hundred is the rarer one.
_RARE = math.log(99.0)


@dataclass(frozen=True)
class Sampler:
    """One way to draw, and what must come out."""

    draw: Callable[[int], Floats | Ints]
    law: Callable[..., Law]
    off: float
    score: str
    times: int = 1

    def near(self, draws: int, errors: float) -> float:
        """How far a law must be off for so many draws to miss it by so many standard errors."""
        return self.off * errors / abs(shift(draws, self.law(), self.law(off=self.off), self.score))

    def tally(self, draws: int) -> Tally:
        """Count so many fresh draws, a chunk at a time."""
        counted = Tally.like(self.law())
        for start in range(0, draws, CHUNK):
            counted.add(self.draw(min(CHUNK, draws - start)))
        return counted


def _rounded(size: int, sigma: float) -> Floats:
    return Noise().integers(np.full(size, sigma))


def _diagonal(size: int) -> Floats:
    matrices = Noise().symmetric_integers(np.full(-(-size // 2), SIGMA), 2)
    return np.diagonal(matrices, axis1=1, axis2=2).ravel()[:size]


def _beside(size: int) -> Floats:
    matrices = Noise().symmetric_integers(np.full(-(-size // 3), SIGMA), 3)
    return matrices[:, *np.triu_indices(3, 1)].ravel()[:size]


def _share(size: int) -> Floats:
    return ShareNoise(HONEST).integers(np.full(size, SIGMA))


def _shares(size: int) -> Floats:
    return sum((_share(size) for _ in range(HONEST)), np.zeros(size))


def _gate(size: int) -> Floats:
    nothing = UserVector("nothing", UNIT, np.zeros((1, size), np.int32))
    released = Gate(Ledger(Budget(1.0, 1e-6))).release("noise alone", [nothing], mu=MU)
    steps: Floats = released["nothing"] / _STEP
    assert np.array_equal(steps, np.rint(steps))
    return steps


def _pure_gate(size: int) -> Ints:
    nobody = np.empty(0, np.int64)
    given = Contributions(nobody, nobody, nobody, 0, size)
    return PureGate(PureLedger(_EPSILON)).sums("noise alone", given, bound=_BOUND, epsilon=_EPSILON)


def _binomial(size: int) -> Ints:
    # What `binomial_above` makes of these words, which test_inversion holds it to.
    return np.searchsorted(word_edges(), PureNoise().words(size), side="right")


def _flips(size: int) -> Ints:
    return 1 - respond_to_sign(np.ones(size), _ANSWER, Coin().words(size)).astype(np.int64)


def _ties(size: int) -> Ints:
    return respond_to_sign(np.zeros(size), _ANSWER, Coin().words(size)).astype(np.int64)


def _answers(size: int) -> Ints:
    return (respond(np.ones(size), _RARE, Coin()) < 0).astype(np.int64)


_flipped = flip_threshold(_ANSWER) / 2.0 ** (COIN_BITS - 1)
_rare = 1.0 - float(thresholds(np.ones(1), _RARE)[0]) / 2.0**BITS
_fine = shares_module._FINE

SAMPLERS: dict[str, Sampler] = {
    "rounded Gaussian, scale 3": Sampler(
        partial(_rounded, sigma=SMALL), cache(partial(laws.gaussian, SMALL)), SCALE_OFF, "square"
    ),
    "rounded Gaussian, scale 8192": Sampler(
        partial(_rounded, sigma=SIGMA), cache(partial(laws.gaussian, SIGMA)), SCALE_OFF, "square"
    ),
    "symmetric matrices, diagonal": Sampler(
        _diagonal, cache(partial(laws.gaussian, SIGMA)), SCALE_OFF, "square"
    ),
    "symmetric matrices, beside the diagonal": Sampler(
        _beside, cache(partial(laws.gaussian, SIGMA * math.sqrt(0.5))), SCALE_OFF, "square"
    ),
    "one share of three": Sampler(
        _share, cache(partial(laws.share, SIGMA, HONEST, fine=_fine)), SCALE_OFF, "square"
    ),
    "sum of three shares": Sampler(
        _shares, cache(partial(laws.shares, SIGMA, HONEST, fine=_fine)), SCALE_OFF, "square"
    ),
    "released by the Gaussian gate": Sampler(
        _gate, cache(partial(laws.gaussian, UNIT / MU, step=_STEP, down=True)), SCALE_OFF, "square"
    ),
    "released by the pure gate, rate 0.3": Sampler(
        _pure_gate,
        cache(partial(laws.geometric, Fraction(_EPSILON) / _BOUND, two_sided=True)),
        SCALE_OFF,
        "size",
    ),
    "geometric, rate 0.05": Sampler(
        lambda size: PureNoise().geometric(_SLOW, size),
        cache(partial(laws.geometric, _SLOW, two_sided=False)),
        SCALE_OFF,
        "size",
    ),
    "binomial": Sampler(_binomial, cache(partial(laws.binomial, CELLS, RATE, THRESHOLD)), SCALE_OFF, "size"),
    "exact coin of chance 1/e": Sampler(
        lambda size: PureNoise().geometric(Fraction(1), size),
        cache(partial(laws.coins_until_tails, math.exp(-1.0))),
        COIN_OFF,
        "size",
        times=10,
    ),
    "exact fair coin": Sampler(
        lambda size: (PureNoise().words(size) & np.uint64(1)).astype(np.int64),
        cache(partial(laws.coin, 0.5)),
        COIN_OFF,
        "size",
        times=16,
    ),
    "randomised response, flips at epsilon 1": Sampler(
        _flips, cache(partial(laws.coin, _flipped)), COIN_OFF, "size", times=16
    ),
    "randomised response, ties": Sampler(_ties, cache(partial(laws.coin, 0.5)), COIN_OFF, "size", times=16),
    "randomised response, rare answers": Sampler(
        _answers, cache(partial(laws.coin, _rare)), COIN_OFF, "size"
    ),
}
