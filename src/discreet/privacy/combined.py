"""Statements made of others: over silos that each release something of their own, and of a model chosen among trials.

**Privacy.** Over silos: a user's ratings are in one silo, and what the other silos release does not depend on them.
Adding or removing that user changes one silo's release, so that all releases together are as private as that one: the
worst of them holds for everybody (parallel composition over disjoint users). A user in two silos pays both, which
``epsilon_in_two`` states for the worst pair. Among trials: ``proofs/selection.md``.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from discreet.errors import ModelInvalid
from discreet.privacy.accounting import compose
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried
from discreet.privacy.ledger import Ledger
from discreet.privacy.promise import NOT_PROTECTED, Release, shares_of
from discreet.privacy.selection import Selection
from discreet.privacy.statement import Silos, Statement

__all__ = ["state_over_silos", "state_selection"]

_TUNING = NOT_PROTECTED[1]
_FURTHER = (
    "further fits on the same ratings: each costs its own budget; the selection stated here is paid for"
)
_TIMED = (
    "the number of trials, towards whoever can watch the search (its duration, load or memory): the promise needs that "
    "number to be secret, so nobody may watch but who holds the ratings"
)

_PUBLIC = "the names of the silos, and which of them stayed away"
_OPEN = "when each silo sent what it sent"


def state_over_silos(statements: Sequence[Statement]) -> Statement:
    """What all users are promised, where each silo has promised its own, about releases that nobody else had a part in.

    Epsilon, delta and mu are the largest of all silos. The releases listed are those of the silo whose users pay most;
    those of the others cost no more. It is not private where one of them is not.
    """
    if not statements:
        raise ModelInvalid("there is no silo to state anything about")
    public = _once([*(entry for one in statements for entry in one.public), _PUBLIC])
    refused = [one for one in statements if not one.private]
    if refused:
        return Statement(
            private=False,
            model="silos",
            reason=refused[0].reason,
            fixed_noise_key=any(one.fixed_noise_key for one in refused),
            releases=refused[0].releases,
            public=public,
        )
    own = [one.own for one in statements]
    together = Statement(
        private=True,
        model="silos",
        epsilon=max(one.epsilon for one in own),
        delta=max(one.delta for one in own),
        mu=max(one.mu for one in own),
        releases=_dearest(statements),
        silos=Silos(
            count=len(statements),
            honest=1,
            noise="each silo",
            epsilon_in_two=_in_two(statements),
        ),
        public=public,
        not_protected=_once([*(entry for one in statements for entry in one.not_protected), _OPEN]),
        domain=_once([entry for one in statements for entry in one.domain]),
    )
    return together.carrying(Carried(runs=tuple(run for one in statements for run in one.earlier_runs)))


def _dearest(statements: Sequence[Statement]) -> tuple[Release, ...]:
    """Releases of the silo with the largest mu, or where none has a mu with the largest epsilon.

    A Gaussian silo goes first: its mu must be covered by what is listed, and the epsilon that is stated covers any
    other silo as a whole.
    """
    return max(statements, key=lambda one: (one.own.mu, one.own.epsilon)).releases


def _in_two(statements: Sequence[Statement]) -> float:
    """The most that a user of two silos paid: of two alike, or of one without delta and one with."""
    alike = [one.silos.epsilon_in_two for one in statements if one.silos is not None]
    if len(alike) < len(statements):
        raise ModelInvalid("a silo does not say what a user in two silos pays")
    without, other = (
        max((one.own.epsilon for one in statements if bool(one.own.delta) is has), default=0.0)
        for has in (False, True)
    )
    return max([*alike, without + other])


def _once(entries: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entries))


def state_selection(
    trial: Statement,
    score: Ledger,
    selection: Selection,
    budget: Budget,
    *,
    public: Iterable[str] = (),
    run: str | None = None,
) -> Statement:
    """State what is owed for the whole selection that a trial came out of; its score's ledger is closed hereby.

    The statement gives the budget of the whole, and as mu what any one trial was allowed.
    """
    if not trial.private or not trial.releases:
        raise ModelInvalid("only private trials that released something can be chosen from")
    if trial.selection is not None:
        raise ModelInvalid("a trial cannot be a selection itself: its cost is not that of one mechanism")
    score.close()
    if not score.charges:
        raise ModelInvalid("the score that the trial was chosen by was not charged")
    # What a trial was allowed, not what this one happened to spend.
    allowed = compose([trial.own.mu, score.budget.mu])
    if allowed > selection.trial_mu(budget) * (1.0 + 1e-9):
        raise ModelInvalid("a trial was allowed to cost more than the selection accounts for")
    kept = tuple(entry for entry in trial.not_protected if entry != _TUNING)
    chosen = Statement(
        private=True,
        epsilon=budget.epsilon,
        delta=budget.delta,
        mu=selection.trial_mu(budget),
        releases=shares_of([*trial.releases, *score.charges]),
        selection=selection,
        public=(*(entry for entry in trial.public if not entry.startswith("all settings")), *public),
        not_protected=(*kept, _FURTHER, _TIMED),
        domain=trial.domain,
        run=secrets.token_hex(16) if run is None else run,
    )
    return chosen.carrying(Carried(runs=trial.earlier_runs))
