"""What a task on devices promises: the statement that goes with its model."""

from __future__ import annotations

import math

from discreet.catalogue import Catalogue
from discreet.devices.schedule import Schedule
from discreet.errors import SettingsInvalid
from discreet.privacy.ledger import PureLedger
from discreet.privacy.local.coin import Coin
from discreet.privacy.own_noise import why_not_private
from discreet.privacy.statement import Statement

__all__ = ["refuse_paid", "state_task"]

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


def state_task(schedule: Schedule, asked: int, coin: Coin | None = None) -> Statement:
    """State what any one device can have spent once so many rounds were asked.

    Parameters
    ----------
    schedule
        Of the task.
    asked
        Number of rounds whose question went out. Devices pay for an answer when they give it, so an open round counts,
        whether or not its answers are in the model.
    coin
        What simulated devices threw. Any but the package's own makes the statement say that nothing is private. Real
        devices throw their own, which nobody sees.

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
        charge = ledger.charge(f"answer {number + 1} of one device, one bit", epsilon=schedule.cost)
        ledger.redeem(charge)
    ledger.void(None if coin is None else why_not_private(coin, Coin))
    to_come = (
        f"answers still to come: a device that answers every round of the task spends {schedule.epsilon:g}",
    )
    return Statement.from_pure_ledger(
        ledger,
        model="local",
        public=_PUBLIC,
        not_protected=() if ended else to_come,
    )
