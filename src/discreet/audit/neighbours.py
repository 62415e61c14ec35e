"""Record and replay: one run is written down, and its queries are asked again with one user more or less.

Given the same releases, the two runs ask the same queries. What differs before the noise is then exactly what each
release's bound is about: the length of the difference of two vectors of integers, in standard deviations of the noise,
against the mu that was charged. Integers are compared, so nothing here is a matter of chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet.audit.findings import ReleaseFinding, ReplayFinding
from discreet.audit.recording import ENGINES, MakeEngine, Run, answers, record, same_totals
from discreet.audit.sensitivity import distance
from discreet.audit.strangers import strangers, together
from discreet.data.ratings import Ratings
from discreet.methods.method import PrivateMethod
from discreet.methods.private_half import PrivateHalf
from discreet.methods.query import Query
from discreet.privacy.account.ledger_file import AnyLedger, open_run
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.totals import Total

__all__ = ["Move", "moved", "replay"]


class Move(NamedTuple):
    """What one user's coming does to the exact totals of a release.

    Parameters
    ----------
    ratio
        Length of the change in standard deviations of the noise, over the mu that was charged.
    alone
        Whether the change is what the user brings and nobody else's contribution moved by a bit.
    """

    ratio: float
    alone: bool


def moved(query: Query[Any], full: Sequence[Total], rest: PrivateHalf, one: PrivateHalf) -> Move:
    """Compare totals of everybody with those of the rest and of one user alone."""
    less, own = answers(rest, [query])[0], answers(one, [query])[0]
    changes = [(whole.value - part.value).astype(np.float64) for whole, part in zip(full, less, strict=True)]
    alone = all(np.array_equal(change, mine.value) for change, mine in zip(changes, own, strict=True))
    return Move(distance(changes, query.mechanism.empty(), query.mu), alone)


def replay(
    method: PrivateMethod,
    ratings: Ratings,
    budget: Budget,
    *,
    seed: int = 0,
    noise: Callable[[], Noise] = Noise,
    ledger: AnyLedger | None = None,
    engines: Mapping[str, MakeEngine] = ENGINES,
) -> ReplayFinding:
    """Train on ``ratings`` and some synthetic users, and replay it with each of those added or removed.

    Parameters
    ----------
    ratings
        Anybody's. They are never the neighbour: only synthetic users come and go.
    noise
        Leave it out. The run's releases have the noise of the budget, and what is found follows from them and from
        synthetic users alone.
    ledger
        Of the people in ``ratings``, whose budget the releases spend; as in :meth:`discreet.PrivateMethod.fit`.
    engines
        Ways to add users up that must give the same integers.

    Notes
    -----
    **Privacy**. The record stays in memory. The worst ratio is a function of the releases and of synthetic users, so
    whoever publishes it has spent the budget once, as by training; it says nothing else about ratings.
    """
    there, coming = strangers(ratings, seed), strangers(ratings, seed + 1)
    if ledger is None:
        run = record(method, together(ratings, there), budget, seed, noise)
    else:
        name, adaptive = f"audit of {method.public_half.name}", method.public_half.adaptive
        with open_run(ledger, budget, method.price(budget), method=name, adaptive=adaptive) as journal:
            run = record(method, together(ratings, there), budget, seed, noise, journal)
            journal.end()
    worst, alone = np.zeros(len(run.queries)), True
    for full, rest, one in _pairs(run, there.n_users, coming):
        for number, query in enumerate(run.queries):
            totals = run.totals[number] if full is None else answers(full, [query])[0]
            move = moved(query, totals, rest, one)
            worst[number] = max(worst[number], move.ratio)
            alone = alone and move.alone
    findings = [
        ReleaseFinding(query.name, query.mu, ratio)
        for query, ratio in zip(run.queries, worst.tolist(), strict=True)
    ]
    agreed = {
        name: all(
            same_totals(engine.totals(query), totals)
            for query, totals in zip(run.queries, run.totals, strict=True)
        )
        for name, engine in ((name, make(method.private_half, run.ratings)) for name, make in engines.items())
    }
    return ReplayFinding(tuple(findings), alone, agreed, there.n_users + coming.n_users)


_Pair = tuple[PrivateHalf | None, PrivateHalf, PrivateHalf]


def _pairs(run: Run, leaving: int, coming: Ratings) -> Iterator[_Pair]:
    """With a user (none: as recorded), without, and the user alone. One at a time: each holds a copy of all ratings."""
    for user in range(run.n_users - leaving, run.n_users):
        yield None, run.users(np.arange(run.n_users) != user), run.users([user])
    half = run.method.private_half
    for place in range(coming.n_users):
        newcomer = coming.take_users([place])
        yield half(together(run.ratings, newcomer)), run.users(), half(newcomer)
