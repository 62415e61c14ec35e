"""A task: its public settings, its rounds (which question, of whom, at what cost), and the model that it ends in."""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from discreet.catalogue import Catalogue
from discreet.devices.device.question import Kind
from discreet.devices.estimator import noise_variance
from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.methods.public.settings import Auto, Settings
from discreet.model import Model
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import AnySide, ItemWeights, Sums
from discreet.privacy.gaussian.noise import why_not_private
from discreet.privacy.local.rotated import Coin
from discreet.privacy.pure.ledger import PureLedger, state_pure
from discreet.privacy.statement import Statement

__all__ = [
    "BEST_EPSILON",
    "METHOD",
    "DeviceSettings",
    "Schedule",
    "Step",
    "model_of",
    "popularity_list",
    "refuse_paid",
    "rotations_for",
    "state_task",
]

METHOD = "devices"
"""Name of the method in a model's folder."""

BEST_EPSILON = 2.18
"""Cost at which one answer tells most for its epsilon: where tanh(eps / 2)^2 / eps is largest."""

_SUMS = 1 << 24  # of one round: integers of 4 bytes
# Below it the noise drowns any number of answers, and its scale would leave the range of the released numbers.
_LEAST_COST = 1e-9


class DeviceSettings(Settings):
    """Public settings of a task.

    Attributes
    ----------
    goal
        ``"rank"``: a private count of popularity, on which lists rest; every question is about it. ``"rate"``:
        predicted ratings, which takes many more devices; popularity and offsets, and factors where they are asked for.
    groups
        Devices are dealt into this many groups; in every pass each group is asked one question. The first question of
        a pass is popularity, the others are offsets. ``"auto"``: all together for lists, four groups for ratings.
    passes
        How many questions each device answers, each for its share of epsilon; ``"auto"`` takes as many as leaves each
        the cost at which answers tell most.
    factor_rounds, rank
        How many of the last rounds ask for factors instead, and how many factors. 0 rounds: offsets alone,
        which is best unless there are hundreds of devices for each item and each has many ratings.
    spread
        How much one user's ratings vary (standard deviation); ``"auto"``: a quarter of the range's width.
    """

    goal: Literal["rate", "rank"] = "rank"
    groups: Annotated[int, Field(ge=1, le=64)] | Auto = "auto"
    passes: Annotated[int, Field(ge=1, le=64)] | Auto = "auto"
    factor_rounds: Annotated[int, Field(ge=0, le=1000)] = 0
    rank: Annotated[int, Field(ge=1, le=64)] = 2
    spread: Annotated[float, Field(gt=0.0)] | Auto = "auto"


class Step(NamedTuple):
    """One round: what is asked, and which group of how many."""

    kind: Kind
    group: int
    groups: int


class Schedule:
    """The rounds of a task, in order, when each device spends ``epsilon`` in all of them together.

    Each of ``passes`` asks every one of ``groups`` one question: a device answers at most once a pass, at ``cost``.
    """

    def __init__(self, settings: DeviceSettings, epsilon: float) -> None:
        self.settings = settings
        if not 0.0 < epsilon <= 1000.0:
            raise BudgetInvalid(f"epsilon must be above zero and at most 1000, got {epsilon}")
        usual = 1 if settings.goal == "rank" else 4
        self.epsilon, self.groups = float(epsilon), usual if settings.groups == "auto" else settings.groups
        best = max(1, round(epsilon / BEST_EPSILON))
        self.passes = min(best, 64) if settings.passes == "auto" else settings.passes
        # Rounded down, so that the exact sum over all passes stays within epsilon.
        self.cost = math.nextafter(epsilon / self.passes, 0.0)
        if self.cost < _LEAST_COST:
            raise BudgetInvalid(
                f"one answer would cost {self.cost:g}, too little to say anything; ask for fewer passes"
            )
        if self.cost > 20.0:
            raise SettingsInvalid(f"one answer would cost {self.cost:g}, more than 20; ask for more passes")
        if settings.goal == "rate" and self.groups == 1:
            raise SettingsInvalid("ratings need two groups or more: one for popularity, one for offsets")
        rounds, factors = self.passes * self.groups, settings.factor_rounds
        if settings.goal == "rank" and factors:
            raise SettingsInvalid("factors are of ratings; with the goal rank leave factor_rounds at 0")
        if factors and factors > rounds - 2:
            raise SettingsInvalid(
                f"{factors} of {rounds} rounds cannot ask for factors: the first two are needed for "
                "popularity and offsets. Ask for fewer, or for more groups or passes"
            )
        asked: Kind = "popularity" if settings.goal == "rank" else "offsets"
        self.steps = tuple(self._step(number, rounds - factors, asked) for number in range(rounds))

    def passes_begun(self, rounds: int) -> int:
        """In how many passes a device can have answered once so many rounds were asked."""
        return -(-rounds // self.groups)

    def _step(self, number: int, factors_from: int, asked: Kind) -> Step:
        turn, place = divmod(number, self.groups)
        kind: Kind = "popularity" if place == 0 else asked
        # Every pass starts with another group, so that each is asked about different things.
        return Step("factors" if number >= factors_from else kind, (number + turn) % self.groups, self.groups)


def rotations_for(dimension: int) -> int:
    """Number of public rotations for vectors of this length: 16, fewer where memory would pass 64 MiB."""
    return max(1, min(16, _SUMS // dimension))


_PUBLIC = (
    "the item catalogue",
    "the rating range",
    "all settings, and how much one user's ratings vary",
    "each device's pseudonym, and with it which rounds it was asked in",
)


def refuse_paid(catalogue: Catalogue) -> None:
    """Refuse a catalogue that a run has found: what that run cost does not add up with what devices promise."""
    if catalogue.paid is not None:
        raise SettingsInvalid(
            "a run on somebody's server has found this catalogue, and devices trust no server: give a public list of "
            "items. If it is public by now, Catalogue(catalogue.ids) says so"
        )


def model_of(
    found: ItemSide,
    catalogue: Catalogue,
    schedule: Schedule,
    asked: int,
    answers: int,
    coin: Coin | None = None,
) -> Model:
    """The model of a task of which so many rounds were asked, and so many answers were released."""
    settings = schedule.settings
    side: AnySide = found if settings.goal == "rate" else popularity_list(found, schedule.cost, answers)
    return Model(side, catalogue, state_task(schedule, asked, coin), METHOD, settings.model_dump())


def popularity_list(side: ItemSide, cost: float, answers: int) -> ItemWeights:
    """The list that popularity alone makes: a table without weights, whose counts carry their noise.

    The noise follows from the epsilon of one answer and from how many there were.
    """
    counts = np.zeros(side.n_items) if side.popularity is None else side.popularity
    nothing, none = np.zeros(0, np.float32), np.zeros(0, np.int32)
    noise = math.sqrt(noise_variance(cost, answers))
    return ItemWeights(
        side.scale,
        counts,
        counts if np.ptp(counts) > 0.0 else np.zeros(side.n_items),
        np.zeros(side.n_items + 1, np.int64),
        none,
        nothing,
        nothing,
        np.zeros(side.n_items),
        0.0,
        Sums(none, nothing, 0.0, noise, float(answers), 0.0),
    )


def state_task(schedule: Schedule, asked: int, coin: Coin | None = None) -> Statement:
    """State what any one device can have spent once the questions of so many rounds went out.

    Devices pay for an answer when they give it, so an open round counts, whether or not its answers are in the model.
    ``coin`` is what simulated devices threw: any but the package's own makes the statement say that nothing is private.

    Notes
    -----
    **Privacy.** A device answers at most once a pass and pays the same for each answer
    (``privacy/local/proofs/rotated.md``); its transcript so far is epsilon-LDP for the sum.
    """
    begun = schedule.passes_begun(asked)
    ended = begun == schedule.passes
    # An epsilon that is a sum of floats is rounded up.
    ledger = PureLedger(schedule.epsilon if ended else math.nextafter(begun * schedule.cost, math.inf))
    for number in range(begun):
        ledger.redeem(ledger.charge(f"answer {number + 1} of one device, one bit", epsilon=schedule.cost))
    ledger.void(None if coin is None else why_not_private(coin, Coin))
    to_come = (
        f"answers still to come: a device that answers every round of the task spends {schedule.epsilon:g}",
    )
    return state_pure(ledger, model="local", public=_PUBLIC, not_protected=() if ended else to_come)
