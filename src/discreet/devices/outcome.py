"""What a task on devices ends in: the model, and the statement of what any one device can have spent."""

from __future__ import annotations

import math

import numpy as np

from discreet.catalogue import Catalogue
from discreet.devices.estimator import noise_variance
from discreet.devices.schedule import METHOD, Schedule
from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import AnySide, ItemWeights, Sums
from discreet.privacy.gaussian.noise import why_not_private
from discreet.privacy.local.coin import Coin
from discreet.privacy.pure.ledger import PureLedger, state_pure
from discreet.privacy.statement import Statement

__all__ = ["model_of", "popularity_list", "refuse_paid", "state_task"]

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
