"""Gradient descent on devices: a server moves the items by what devices tell it, each device keeps its own profile.

The paper: Shin, Kim, Shin, Xiao, "Privacy Enhanced Matrix Factorization for Recommendation with Local Differential
Privacy" (2018). Which mechanism the devices answer with is a `Channel`; everything else is the same for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.errors import BudgetInvalid, CatalogueMissing, SettingsInvalid
from discreet.privacy.gaussian.noise import why_not_private
from discreet.privacy.local.rotated import Coin
from discreet.privacy.pure.ledger import PureLedger, state_pure
from discreet.privacy.statement import Statement
from discreet.types import Floats
from reproduction.local.channel import FLOATING_POINT, GUARANTEE, Channel, Round
from reproduction.local.crowd import Crowd

_FARTHEST = 1e6
"""Items are kept within this, so that a descent that diverges still ends with numbers."""


@dataclass(frozen=True)
class Descent:
    """Public settings of a run."""

    rank: int = 15
    rounds: int = 10
    rate: float = 1.0
    penalty: float = 1e-8
    correction: float = 2.0
    batches: int = 1
    spread: float = 0.1

    def __post_init__(self) -> None:
        if self.rank < 1 or self.rounds < 1 or self.batches < 1:
            raise SettingsInvalid("rank, rounds and batches must be at least 1")
        if not (self.rate >= 0.0 and self.penalty >= 0.0 and math.isfinite(self.rate)):
            raise SettingsInvalid("rate and penalty must be at least 0")

    @property
    def answers(self) -> int:
        """How often one device answers at most."""
        return -(-self.rounds // self.batches)


@dataclass(frozen=True)
class Outcome:
    """What a run ends with: released items, the profiles that stay on the devices, and the statement."""

    items: Floats
    profiles: Floats
    statement: Statement
    settings: Descent
    rating_range: tuple[float, float]
    method: str

    def predict(self, users: npt.NDArray[np.integer], items: npt.NDArray[np.integer]) -> Floats:
        """``u_i . v_j`` with the profile the device came to, clipped to the rating range."""
        return np.clip(kernels.dot_pairs(users, items, self.profiles, self.items), *self.rating_range)


def start(
    settings: Descent, n: int, rating_range: tuple[float, float], public: np.random.Generator
) -> Floats:
    """Rows to begin with, for items or profiles: any two of them predict about the middle of the range."""
    low, high = rating_range
    level = math.sqrt(max(abs(low + high) / 2.0, (high - low) / 4.0) / settings.rank)
    return np.asarray(level * (1.0 + settings.spread * public.standard_normal((n, settings.rank))))


def descend(
    ratings: Ratings,
    channel: Channel,
    epsilon: float | None,
    settings: Descent | None = None,
    *,
    rng: int = 0,
    coin: Coin | None = None,
) -> Outcome:
    """Run exactly ``settings.rounds`` rounds over all users' devices.

    Notes
    -----
    **Privacy.** Unit: one user with all ratings. Relation: replace all of one user's ratings. Every answer costs
    ``epsilon / settings.answers``; items and statement are post-processing of the answers. ``proofs/descent.md``.
    """
    settings = settings or Descent()
    coin = Coin() if coin is None else coin
    crowd = Crowd.of(ratings)
    assert ratings.rating_range is not None
    if ratings.catalogue is None:
        raise CatalogueMissing("the items must be public before any device answers: give a catalogue")
    ledger, each = _budget(channel, epsilon, settings)
    public = np.random.default_rng(rng)
    items = start(settings, crowd.n_items, ratings.rating_range, public)
    profiles = start(settings, crowd.size, ratings.rating_range, public)
    group = public.permutation(crowd.size) % settings.batches
    for number in range(settings.rounds):
        if number % settings.batches == 0 and ledger is not None:
            ledger.redeem(ledger.charge(f"answer {number // settings.batches + 1}", epsilon=each))
        chosen = np.flatnonzero(group == number % settings.batches)
        everyone = len(chosen) == crowd.size
        asked = crowd if everyone else crowd.part(chosen)
        own = profiles if everyone else profiles[chosen]
        gradient = channel.gradient(Round(asked, own, items, each, public, coin))
        rate = settings.rate / (number + 1) / settings.rounds**settings.correction
        items = np.clip(items - rate * (gradient + 2.0 * settings.penalty * items), -_FARTHEST, _FARTHEST)
        profiles = crowd.step(profiles, items, settings.penalty)
    statement = _state(channel, ledger, coin)
    return Outcome(items, profiles, statement, settings, ratings.rating_range, channel.name)


def _budget(channel: Channel, epsilon: float | None, settings: Descent) -> tuple[PureLedger | None, float]:
    """The ledger of one device, and what one answer costs."""
    if channel.protects == "nothing":
        return None, math.inf
    if epsilon is None or not 0.0 < epsilon < math.inf:
        raise BudgetInvalid(f"{channel.name} needs an epsilon above 0, got {epsilon}")
    if channel.protects == "rating":
        return None, epsilon
    return PureLedger(epsilon), epsilon / settings.answers


def _state(channel: Channel, ledger: PureLedger | None, coin: Coin) -> Statement:
    public = ("the item catalogue", "the rating range", "all settings", "who is asked which coordinate")
    if ledger is None:
        reason = GUARANTEE if channel.protects == "rating" else "devices hand over exact gradients"
        return Statement.not_private(reason, public=public)
    ledger.void(FLOATING_POINT if channel.protects == "user on paper" else None)
    ledger.void(why_not_private(coin, Coin))
    return state_pure(ledger, model="local", public=public)
