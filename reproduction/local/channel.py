"""How item gradients come from devices to the server: exactly, or through one of the paper's mechanisms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from discreet.privacy.local.coin import Coin
from discreet.privacy.local.randomised_response import amplification, respond
from discreet.types import Floats
from reproduction.local.crowd import Crowd

__all__ = ["Channel", "Exact", "OneCoordinate", "Round"]


@dataclass(frozen=True)
class Round:
    """What is asked in one round, and of whom.

    Parameters
    ----------
    crowd, profiles
        The devices that take part, and their own profiles: private to each.
    items
        The items released so far: public.
    epsilon
        What one answer costs.
    public, coin
        Randomness anyone may know, and the coin nobody may know.
    """

    crowd: Crowd
    profiles: Floats
    items: Floats
    epsilon: float
    public: np.random.Generator
    coin: Coin


class Channel(Protocol):
    """One way for devices to tell the server which way the items should move."""

    @property
    def name(self) -> str:
        """In words."""

    @property
    def protects(self) -> Literal["user", "user on paper", "rating", "nothing"]:
        """What an answer hides: all of a user's ratings (on paper: in exact arithmetic), one rating's, nothing."""

    def gradient(self, asked: Round) -> Floats:
        """Items x rank: an estimate of the mean over devices of ``-2 y_ij u_i (r_ij - u_i . v_j)``."""


@dataclass(frozen=True)
class Exact:
    """Every device hands its gradient over as it is: not private, the yardstick."""

    name: str = "non-private GD"
    protects: Literal["user", "rating", "nothing"] = field(default="nothing", init=False)

    def gradient(self, asked: Round) -> Floats:
        """The exact mean."""
        wrong = asked.crowd.residuals(asked.profiles, asked.items)
        return asked.crowd.by_item(wrong, asked.profiles) * (-2.0 / max(asked.crowd.size, 1))


@dataclass(frozen=True)
class OneCoordinate:
    """Algorithm 1: each device answers one bit about one coordinate of its items x rank gradient.

    Notes
    -----
    **Privacy.** Unit: one user with all ratings. Relation: replace all of one user's ratings. The coordinate comes from
    public randomness, the value is clipped to [-1, 1] before the coin, and a device that has not rated the item
    answers with an even coin. One answer is epsilon-LDP: ``proofs/descent.md``.
    """

    name: str = "private GD"
    protects: Literal["user", "rating", "nothing"] = "user"

    def gradient(self, asked: Round) -> Floats:
        """The mean of the answers, each put where it was asked and scaled to be right on average."""
        crowd, (m, d) = asked.crowd, asked.items.shape
        item = asked.public.integers(0, m, crowd.size)
        factor = asked.public.integers(0, d, crowd.size)
        values = self.values(asked, item, factor)
        bits = respond(values, asked.epsilon, asked.coin)
        sums = np.bincount(item * d + factor, weights=bits, minlength=m * d).reshape(m, d)
        return np.asarray(sums * (m * d * amplification(asked.epsilon) / max(crowd.size, 1)))

    def values(self, asked: Round, item: npt.NDArray[np.integer], factor: npt.NDArray[np.integer]) -> Floats:
        """Each device's own gradient at the coordinate it is asked for; 0 for an item it has not rated."""
        rated, place = asked.crowd.find(item)
        at = np.flatnonzero(rated)
        own = asked.profiles[at]
        wrong = asked.crowd.values[place[at]] - np.einsum("ij,ij->i", own, asked.items[item[at]])
        values = np.zeros(asked.crowd.size)
        values[at] = -2.0 * own[np.arange(len(at)), factor[at]] * wrong
        return values
