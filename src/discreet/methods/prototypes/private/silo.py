"""The silo's half of the protocol: ratings in, one message out. Proof note: ``proofs/prototypes.md``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.prototypes.private.lloyd import lloyd_prototypes, release_levels
from discreet.methods.prototypes.private.rows import Prototypes, TooFewUsers, settle_bounds
from discreet.methods.prototypes.private.swap import prototypes_through
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried, Price
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.ledger import Ledger
from discreet.privacy.pure.gate import PureGate
from discreet.privacy.pure.ledger import PureLedger, state_pure
from discreet.privacy.pure.noise import PureNoise
from discreet.privacy.statement import SiloTerms, Statement

__all__ = ["PUBLIC", "PrivatePrototypes"]

PUBLIC = (
    "the item catalogue",
    "the rating range",
    "the order of magnitude of the number of users",
    "all settings, the seed of the projection among them",
)
"""What a silo's message takes as public."""


class PrivatePrototypes:
    """Makes a silo's message.

    Parameters
    ----------
    settings
        Or its fields by name; all public.

    Notes
    -----
    **Privacy.** Unit: one user with all ratings in this silo. Relation: add or remove one user. The message is
    (epsilon, delta)-DP with ``clustering="lloyd"`` and epsilon-DP with ``"swap"``; a user in two silos pays in both.
    """

    def __init__(self, settings: PrototypeSettings | None = None, **values: Any) -> None:
        self.settings = PrototypeSettings.checked(**values) if settings is None else settings

    def price(self, epsilon: float) -> Price:
        """What a silo's message reserves in a ledger."""
        if self.settings.clustering == "lloyd":
            return Price(kind="gaussian", mu=Budget(epsilon, self.settings.delta).mu)
        return Price(kind="pure", epsilon=epsilon)

    def message(
        self,
        ratings: Ratings,
        epsilon: float,
        *,
        noise: PureNoise | None = None,
        journal: LedgerRun | None = None,
    ) -> PrototypeMessage:
        """What this silo sends: one message, after which nothing else about its users leaves.

        Every charge is written to the journal before its noise is drawn. A fixed key of the noise makes a message that
        is marked as not private.

        Raises
        ------
        TooFewUsers
            When the noisy number of users does not stand out. It is charged all the same, and the error has the
            statement.
        """
        make: Callable[[], PrototypeMessage]
        if self.settings.clustering == "swap":
            pure = PureGate(PureLedger(epsilon), noise)
            ledger: PureLedger | Ledger = pure.ledger
            make = partial(self._swap, pure, ratings, epsilon)
        else:
            budget = Budget(epsilon, self.settings.delta)
            budget.check_users(self.settings.users)
            settle_bounds(self.settings, ratings)
            gate = Gate(Ledger(budget), noise)
            ledger, make = gate.ledger, partial(self._lloyd, gate, ratings, budget)
        ledger.keep_in(journal)
        try:
            return make()
        except TooFewUsers as refusal:
            refusal.statement = _statement(ledger, ratings)
            raise

    def _swap(self, gate: PureGate, ratings: Ratings, epsilon: float) -> PrototypeMessage:
        trial = prototypes_through(gate, ratings, epsilon, self.settings)
        notes = _notes(trial.prototypes, trial.cells)
        return _message(trial.prototypes, ratings, _statement(gate.ledger, ratings), notes)

    def _lloyd(self, gate: Gate, ratings: Ratings, budget: Budget) -> PrototypeMessage:
        settings = self.settings
        if settings.rows(ratings.explicit) != "level":
            found = lloyd_prototypes(gate, ratings, settings, budget)
            return _message(found, ratings, _statement(gate.ledger, ratings), _notes(found))
        evidence = release_levels(gate, ratings, settings, budget)
        assert ratings.catalogue is not None
        return PrototypeMessage.of_evidence(
            evidence,
            ratings.scale,
            catalogue=ratings.catalogue.digest,
            statement=_statement(gate.ledger, ratings),
            notes=() if len(evidence.sizes) else (_ONE,),
        )


def _message(
    found: Prototypes, ratings: Ratings, statement: Statement, notes: tuple[str, ...]
) -> PrototypeMessage:
    assert ratings.catalogue is not None
    arrays = found.values, found.mask, found.weights
    return PrototypeMessage(*arrays, ratings.catalogue.digest, ratings.scale, statement, notes)


def _statement(ledger: PureLedger | Ledger, ratings: Ratings) -> Statement:
    paid = Carried.together([None if ratings.catalogue is None else ratings.catalogue.paid])
    public = tuple(entry for entry in PUBLIC if entry != "the item catalogue" or not paid.runs)
    domain = ratings.rules.domain(explicit=ratings.explicit, listed=True)
    if isinstance(ledger, PureLedger):
        stated = state_pure(ledger, model="silos", public=public, domain=domain)
    else:
        alone = SiloTerms(None, 1, "each silo")
        # How many releases there are depends on the noisy count: the whole budget is stated on every path.
        stated = Statement.over_silos(ledger, alone, public=public, adaptive=True, domain=domain)
    return stated.carrying(paid)


_ONE = "one prototype: groups of users would not have stood out from the noise"


def _notes(found: Prototypes, cells: tuple[int, ...] = ()) -> tuple[str, ...]:
    """What is wrong with a run's outcome, in words, and how many cells each level had."""
    notes = []
    if sum(cells) == 1:
        notes.append("degenerate: only the root cell survived the partition, so there is one prototype")
    elif len(found.values) == 1 or bool((found.values == found.values[0]).all()):
        notes.append("degenerate: all prototypes coincide")
    rows = [row[mask] for row, mask in zip(found.values, found.mask, strict=True) if mask.any()]
    if not rows:
        notes.append("degenerate: no item's count stood out from its noise")
    elif all(np.ptp(row) == 0.0 for row in rows):
        notes.append("degenerate: no difference between items stood out from noise, every prototype is flat")
    if cells:
        notes.append("cells by level: " + ", ".join(str(count) for count in cells))
    return tuple(notes)
