"""The scheme the paper starts from: randomised response on every item, Laplace noise on every gradient."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
from randomgen import AESCounter

from discreet.privacy.local.coin import Coin
from discreet.privacy.local.randomised_response import BITS, amplification, respond, thresholds
from discreet.types import Floats
from reproduction.local.channel import Round

__all__ = ["FLOATING_POINT", "Naive", "laplace_sums", "stream_of"]

FLOATING_POINT = (
    "Laplace noise is drawn in floating point, where it has holes: which numbers can be sent shows what they were "
    "added to, so the scheme's epsilon holds on paper only"
)
"""Why the scheme's own promise is not made, in words."""


@dataclass(frozen=True)
class Naive:
    """Each device sends, for every item, whether it was rated and a gradient, both noised.

    Half of an answer's epsilon hides the items (randomised response at epsilon / (2 items) each), half the gradients
    (Laplace noise of scale 2 items rank / (epsilon / 2), gradients clipped to [-1, 1] and 0 for items not rated).

    Notes
    -----
    **Privacy.** None is claimed. On paper an answer is epsilon-LDP (``descent.md``); here Laplace noise is drawn in
    floating point, and the statement of a run says that it is not private (:data:`FLOATING_POINT`). This is a
    simulation: what the devices would send is never written down one by one, and the sums have the same distribution.
    """

    name: str = "naive (randomised response and Laplace)"
    protects: Literal["user on paper"] = field(default="user on paper", init=False)

    def gradient(self, asked: Round) -> Floats:
        """The paper's estimate: answers weighted by ``(y* - p/2) / (1 - p)``."""
        crowd, (m, d) = asked.crowd, asked.items.shape
        each = asked.epsilon / 2.0 / m
        scale = 2.0 * m * d / (asked.epsilon / 2.0)
        said = respond(np.ones(len(crowd.items)), each, asked.coin) > 0
        stream = stream_of(asked.coin)
        falsely = int(thresholds(np.array([-1.0]), each)[0]) / 2.0**BITS
        rated = np.bincount(crowd.items, minlength=m)
        yes = np.bincount(crowd.items, weights=said, minlength=m).astype(np.int64)
        yes += stream.binomial(crowd.size - rated, falsely)
        # Weights of a yes and of a no, in the thresholds as rounded.
        weight_yes, weight_no = ((1.0 + side * amplification(each)) / 2.0 for side in (1.0, -1.0))
        sums = weight_yes * laplace_sums(yes, scale, d, stream)
        sums += weight_no * laplace_sums(crowd.size - yes, scale, d, stream)
        wrong = -2.0 * crowd.residuals(asked.profiles, asked.items)
        sums += crowd.by_item_clipped(wrong, np.where(said, weight_yes, weight_no), asked.profiles)
        return np.asarray(sums / max(crowd.size, 1))


def laplace_sums(
    counts: npt.NDArray[np.integer], scale: float, rank: int, stream: np.random.Generator
) -> Floats:
    """For each count and each of ``rank`` columns, a sum of that many independent Laplace numbers.

    A Laplace number is the difference of two exponential ones, so the sum is the difference of two gamma numbers.
    """
    shape = np.repeat(counts.astype(np.float64)[:, np.newaxis], rank, axis=1)
    return np.asarray(scale * (stream.standard_gamma(shape) - stream.standard_gamma(shape)))


def stream_of(coin: Coin) -> np.random.Generator:
    """A generator keyed by the coin, for noise beyond one bit."""
    return np.random.Generator(AESCounter(key=int.from_bytes(coin.words(2).tobytes(), "little")))
