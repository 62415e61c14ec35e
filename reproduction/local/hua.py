"""Hua, Xia and Zhong (2015), the paper's rival: noise on each rating's gradient, and a much weaker promise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from discreet.types import Floats
from reproduction.local.channel import Round
from reproduction.local.naive import laplace_sums, stream_of

__all__ = ["GUARANTEE", "Hua"]


GUARANTEE = (
    "each message hides the value of one rating, by itself, at the stated epsilon in every round; which items a user "
    "rated is sent in the clear, so nothing is promised for all of a user's ratings, whatever the epsilon; even with "
    "the items known, a user with c ratings who answers k rounds has c k epsilon for the values"
)
"""What the method promises, in words."""


@dataclass(frozen=True)
class Hua:
    """Each device sends the gradient of every rating it has, with Laplace noise, named by the item.

    Notes
    -----
    **Privacy.** Not a user's: see :data:`GUARANTEE`. Gradients are clipped to [-1, 1] in each of the rank coordinates,
    so noise of scale 2 rank / epsilon hides one message; the epsilon is not divided by the rounds, as in the paper's
    comparison. The simulated sums have exactly the distribution of summed messages.
    """

    name: str = "Hua et al. (hides one rating, not a user)"
    protects: Literal["user", "rating", "nothing"] = field(default="rating", init=False)

    def gradient(self, asked: Round) -> Floats:
        """The mean over devices of what was sent."""
        crowd, (m, d) = asked.crowd, asked.items.shape
        counts = np.bincount(crowd.items, minlength=m)
        sums = laplace_sums(counts, 2.0 * d / asked.epsilon, d, stream_of(asked.coin))
        wrong = -2.0 * crowd.residuals(asked.profiles, asked.items)
        sums += crowd.by_item_clipped(wrong, np.ones(len(wrong)), asked.profiles)
        return np.asarray(sums / max(crowd.size, 1))
