"""Private prototypes, the silo's side: ratings in, one message out.

Proof note: ``proofs/prototypes.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.prototypes.private.lloyd import lloyd_prototypes
from discreet.methods.prototypes.private.profile import release_profile
from discreet.methods.prototypes.private.recovery import Prototypes
from discreet.methods.prototypes.private.rows import rows_of, settle_bounds
from discreet.methods.prototypes.private.trials import Trial, choose_trial, run_trial
from discreet.methods.prototypes.public.evidence import Evidence
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.prototypes.shares import ShareTable
from discreet.methods.prototypes.too_few import TooFewUsers
from discreet.privacy.account.records import Price
from discreet.privacy.account.run import LedgerRun
from discreet.privacy.budget import Budget
from discreet.privacy.carried import Carried
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.ledger import Ledger
from discreet.privacy.pure.cluster_sums import count_users
from discreet.privacy.pure.gate import PureGate
from discreet.privacy.pure.ledger import PureLedger
from discreet.privacy.pure.noise import PureNoise
from discreet.privacy.statement import SiloTerms, Statement

__all__ = ["PUBLIC", "PrivatePrototypes", "least_users", "prototypes_through"]

PUBLIC = (
    "the item catalogue",
    "the rating range",
    "the order of magnitude of the number of users",
    "all settings, the seed of the projection among them",
)
"""What a silo's message takes as public."""

Progress = Callable[[str], None]


class PrivatePrototypes:
    """The silo's half of the protocol.

    Parameters
    ----------
    **settings
        Of :class:`PrototypeSettings`; all public.

    Notes
    -----
    **Privacy.** Unit: one user with all ratings in this silo. Relation: add or remove one user. The message is
    (epsilon, delta)-DP with ``clustering="lloyd"`` and epsilon-DP with ``"swap"``; a user in two silos pays in both.
    """

    def __init__(self, settings: PrototypeSettings | None = None, **values: Any) -> None:
        self.settings = PrototypeSettings.checked(**values) if settings is None else settings

    @classmethod
    def from_preset(cls, name: str, **changes: Any) -> Self:
        """With settings of :meth:`PrototypeSettings.from_preset`: the paper's variants."""
        return cls(PrototypeSettings.from_preset(name, **changes))

    def shares(self, n_items: int, epsilon: float) -> ShareTable:
        """Where each share of epsilon goes (``clustering="swap"``)."""
        return ShareTable.of(self.settings, n_items, epsilon)

    def message(
        self,
        ratings: Ratings,
        epsilon: float,
        *,
        noise: PureNoise | None = None,
        progress: Progress | None = None,
        journal: LedgerRun | None = None,
    ) -> PrototypeMessage:
        """What this silo sends: one message, after which nothing else about its users leaves.

        Parameters
        ----------
        ratings
            Of this silo's users, with the public catalogue.
        epsilon
            Budget for each of its users.
        noise
            Leave it out. A fixed key makes a message that is marked as not private.
        progress
            Called with a line of text now and then.
        journal
            Where every charge is written before its noise is drawn, beside the message's own account.

        Raises
        ------
        TooFewUsers
            When the noisy number of users does not stand out: a silo of one user is refused. It is charged all the
            same, and the error has the statement.
        """
        if self.settings.clustering == "lloyd":
            return self._gaussian(ratings, epsilon, noise, progress, journal)
        ledger = PureLedger(epsilon)
        ledger.keep_in(journal)
        gate = PureGate(ledger, noise)
        try:
            trial = prototypes_through(gate, ratings, epsilon, self.settings, progress)
        except TooFewUsers as refusal:
            refusal.statement = _pure_statement(gate, ratings)
            raise
        notes = _notes(trial.prototypes, only_root=trial.only_root, cells=trial.cells)
        return _message(trial.prototypes, ratings, _pure_statement(gate, ratings), notes)

    def price(self, epsilon: float) -> Price:
        """What a silo's message reserves in a ledger."""
        if self.settings.clustering == "lloyd":
            return Price(kind="gaussian", mu=Budget(epsilon, self.settings.delta).mu)
        return Price(kind="pure", epsilon=epsilon)

    def _gaussian(
        self,
        ratings: Ratings,
        epsilon: float,
        noise: PureNoise | None,
        progress: Progress | None,
        journal: LedgerRun | None,
    ) -> PrototypeMessage:
        settings, budget = self.settings, Budget(epsilon, self.settings.delta)
        budget.check_users(settings.users)
        level = settings.rows(ratings.explicit) == "level"
        settle_bounds(settings, ratings)
        gate = Gate(Ledger(budget), noise)
        gate.ledger.keep_in(journal)
        least = partial(least_users, settings)
        try:
            if level:
                evidence = release_profile(gate, ratings, settings, budget, least, progress)
                return _level_message(evidence, ratings, _statement(gate, ratings))
            found = lloyd_prototypes(gate, ratings, settings, budget, least, progress)
        except TooFewUsers as refusal:
            refusal.statement = _statement(gate, ratings)
            raise
        return _message(found, ratings, _statement(gate, ratings), _notes(found))


def prototypes_through(
    gate: PureGate,
    ratings: Ratings,
    epsilon: float,
    settings: PrototypeSettings,
    progress: Progress | None = None,
) -> Trial:
    """The whole pipeline, every release through this gate."""
    bounds = settle_bounds(settings, ratings)
    shares = ShareTable.of(settings, ratings.n_items, epsilon)
    rows = rows_of(ratings, bounds, settings.seed)
    _refuse_small(rows.n_users, settings, shares, gate)
    trials = []
    for number in range(shares.trials):
        if progress is not None:
            progress(f"trial {number + 1} of {shares.trials}")
        trials.append(run_trial(number, rows, settings, shares, gate))
    return choose_trial(trials, rows, settings, shares, gate)


def least_users(settings: PrototypeSettings, rate: float) -> int:
    """Noisy number of users from which a silo takes part, where the noise has this rate."""
    if settings.minimum_users != "auto":
        return settings.minimum_users
    return 2 + math.ceil(max(0.0, math.log(0.5 / settings.refusal_risk)) / rate)


def _refuse_small(n_users: int, settings: PrototypeSettings, shares: ShareTable, gate: PureGate) -> None:
    noisy = count_users(gate, "silo count", n_users, epsilon=shares.count)
    least = least_users(settings, shares.count)
    if noisy < least:
        raise TooFewUsers(
            f"this silo has too few users: a noisy count of {noisy}, where {least} are needed at this epsilon; "
            "join with another silo, or raise epsilon"
        )


def _pure_statement(gate: PureGate, ratings: Ratings) -> Statement:
    stated = Statement.from_pure_ledger(
        gate.ledger, model="silos", public=_public(ratings), domain=_domain(ratings)
    )
    return stated.carrying(_paid(ratings))


def _statement(gate: Gate, ratings: Ratings) -> Statement:
    alone = SiloTerms(None, 1, "each silo")
    # How many releases there are depends on the noisy count: the whole budget is stated on every path.
    stated = Statement.from_ledger(
        gate.ledger, public=_public(ratings), adaptive=True, silos=alone, domain=_domain(ratings)
    )
    return stated.carrying(_paid(ratings))


def _paid(ratings: Ratings) -> Carried:
    return Carried.together([None if ratings.catalogue is None else ratings.catalogue.paid])


def _public(ratings: Ratings) -> tuple[str, ...]:
    return tuple(entry for entry in PUBLIC if entry != "the item catalogue" or not _paid(ratings).runs)


def _domain(ratings: Ratings) -> tuple[str, ...]:
    return ratings.rules.domain(explicit=ratings.explicit, listed=True)


def _message(
    found: Prototypes, ratings: Ratings, statement: Statement, notes: tuple[str, ...]
) -> PrototypeMessage:
    assert ratings.catalogue is not None
    return PrototypeMessage(
        values=found.values,
        mask=found.mask,
        weights=found.weights,
        catalogue=ratings.catalogue.digest,
        scale=ratings.scale,
        statement=statement,
        notes=notes,
    )


def _level_message(evidence: Evidence, ratings: Ratings, statement: Statement) -> PrototypeMessage:
    assert ratings.catalogue is not None
    groups = len(evidence.sizes)
    notes = ("one prototype: groups of users would not have stood out from the noise",) if groups == 0 else ()
    return PrototypeMessage.of_evidence(
        evidence, ratings.scale, catalogue=ratings.catalogue.digest, statement=statement, notes=notes
    )


def _notes(found: Prototypes, *, only_root: bool = False, cells: tuple[int, ...] = ()) -> tuple[str, ...]:
    """What is wrong with a run's outcome, in words, and how many cells each level had."""
    notes = []
    if only_root:
        notes.append("degenerate: only the root cell survived the partition, so there is one prototype")
    elif len(found.values) == 1 or bool((found.values == found.values[0]).all()):
        notes.append("degenerate: all prototypes coincide")
    if not found.mask.any():
        notes.append("degenerate: no item's count stood out from its noise")
    elif all(
        np.ptp(row[mask]) == 0.0 for row, mask in zip(found.values, found.mask, strict=True) if mask.any()
    ):
        notes.append("degenerate: no difference between items stood out from noise, every prototype is flat")
    if cells:
        notes.append("cells by level: " + ", ".join(str(count) for count in cells))
    return tuple(notes)
