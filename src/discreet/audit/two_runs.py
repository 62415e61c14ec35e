"""The game over two runs on the same people: the second starts from the first one's model, or is over its catalogue.

The canary is in both runs or in neither, and the attacker sees all that either releases. What must hold is what the
second model's statement says first (``proofs/audit.md``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from discreet.audit.bounds import GameFinding
from discreet.audit.game import (
    RISK,
    Attacker,
    Instance,
    Scores,
    Watched,
    instance_of,
    judge,
    run_once,
    scored,
)
from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing
from discreet.methods.discovery import discover_catalogue
from discreet.methods.published.private.baselines import GlobalMean
from discreet.model import Model
from discreet.model.start import EarlierSums, Start
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.totals import Total
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import Statement

__all__ = ["PAIRS", "PLAYED", "audit_two_runs", "play_two"]

_SHARE = 0.3
# So many people that what they share stands out of the noise at any epsilon that somebody would claim.
_CROWD = 5_000


_Carries: TypeAlias = Start | EarlierSums | None


@dataclass(frozen=True)
class _Pair:
    """Two runs of one budget each: the first gives what the second carries, or ``None`` where it has found nothing."""

    instance: Instance
    first: Callable[[Watched], tuple[Carried, _Carries] | None]


def play_two(
    name: str, budget: Budget, runs: int, *, noise: Callable[[], Noise] = Noise
) -> tuple[Scores, Statement]:
    """Play both runs, each of this budget, ``runs`` times in each world; also what the second statement says."""
    pair, statement = PAIRS[name](), _stated(PAIRS[name](), budget)
    attacker = Attacker(pair.instance, statement.mu or math.inf)

    def both() -> None:
        found = pair.first(Watched(Ledger(budget), noise(), attacker))
        if found is not None:
            run_once(pair.instance, Watched(Ledger(budget), noise(), attacker), found[1])

    return scored(attacker, runs, both), statement


def audit_two_runs(name: str, budget: Budget, runs: int, *, risk: float = RISK) -> GameFinding:
    """Lower bounds on what both runs cost, beside what the statement says first."""
    scores, statement = play_two(name, budget, runs)
    return judge(scores, Budget(statement.epsilon or 0.0, statement.delta or 0.0), risk=risk)


def _stated(pair: _Pair, budget: Budget) -> Statement:
    """What the statement of the second model says, of an honest play: number and cost of releases are fixed."""
    attacker = Attacker(pair.instance, 1.0)
    for _ in range(100):
        attacker.begin(present=False)
        found = pair.first(Watched(Ledger(budget), Noise(), attacker))
        gate = Watched(Ledger(budget), Noise(), attacker)
        if found is None or run_once(pair.instance, gate, found[1]) is None:
            continue
        stated = Statement.from_ledger(gate.ledger, adaptive=pair.instance.method.public_half.adaptive)
        return stated.carrying(found[0])
    raise CatalogueMissing("at this epsilon two runs find nothing in so few people; raise it")


def _start(name: str, earlier: Callable[[Model, Catalogue], _Carries]) -> _Pair:
    """A method twice; the second run starts from the first one's model."""
    instance = instance_of(name)

    def first(gate: Watched) -> tuple[Carried, _Carries] | None:
        trained = run_once(instance, gate)
        catalogue = instance.others.catalogue
        if trained is None or catalogue is None:
            return None
        # Under noise that can be drawn again the statement says so; what the attacker reads is the same.
        stated = Statement.from_ledger(gate.ledger, adaptive=instance.method.public_half.adaptive)
        model = Model(trained.side, catalogue, stated, name)
        return stated.carried(model.digest), earlier(model, catalogue)

    return _Pair(instance, first)


def _catalogue() -> _Pair:
    """A run that finds the catalogue, with part of its budget, and the mean of all ratings over it."""
    crowd = instance_of("budgeted", users=_CROWD)
    instance = replace(crowd, method=GlobalMean())
    worlds = [_unlisted(ratings) for ratings in (crowd.others, crowd.everybody)]
    votes: list[list[Total]] = []

    def first(gate: Watched) -> tuple[Carried, _Carries] | None:
        if not votes:
            votes.extend(_votes(ratings, gate.ledger.budget) for ratings in worlds)
        gate.attacker.know(votes)
        with suppress(CatalogueMissing):
            found = discover_catalogue(gate, worlds[int(gate.attacker.present)], _SHARE)
            stated = Statement.from_ledger(gate.ledger)
            # An item that the noise has hidden ends the play: what was seen of it counts.
            if found.n_items == crowd.others.n_items:
                return stated.found_catalogue(), None
        return None

    return _Pair(instance, first)


def _unlisted(ratings: Ratings) -> Ratings:
    """The same people where no catalogue is known."""
    assert ratings.catalogue is not None
    return replace(ratings, catalogue=None, provisional_ids=ratings.catalogue.ids)


def _votes(ratings: Ratings, budget: Budget) -> list[Total]:
    """The exact totals of what a discovery releases: the same in every play."""
    gate = Watched(Ledger(budget), Noise())
    with suppress(CatalogueMissing):
        discover_catalogue(gate, ratings, _SHARE)
    return gate.totals


PAIRS: dict[str, Callable[[], _Pair]] = {
    "start": partial(_start, "budgeted", Start.of),
    "start of lists": partial(_start, "ease", EarlierSums.of),
    "catalogue": _catalogue,
}
"""Ways in which a second run carries a first one."""

PLAYED = {"budgeted": ("start", "catalogue"), "ease": ("start of lists", "catalogue")}
"""Which of them are about a method that starts from earlier models."""
