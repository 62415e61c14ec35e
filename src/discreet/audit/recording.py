"""A run of a private method, written down: every query, every exact total, every release.

Everything in a record but the totals is public. The same queries can then be asked again, of other users, in another
order, on another engine: integers are compared given the same releases, which is what each release's bound is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreet.audit.on_disk import StoredEngine
from discreet.data.ratings import Ratings
from discreet.engines.memory import MemoryEngine
from discreet.methods.method import PrivateMethod
from discreet.methods.private_half import PrivateHalf
from discreet.methods.protocol import Engine, ProtocolRun
from discreet.methods.public_half import Facts
from discreet.methods.query import Query, Trained
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.totals import Total, add_totals, exact_totals
from discreet.privacy.ledger import Ledger
from discreet.types import Floats

__all__ = [
    "ENGINES",
    "IN_MEMORY",
    "DividedEngine",
    "MakeEngine",
    "Run",
    "answers",
    "converse_with",
    "record",
    "same_totals",
]


class MakeEngine(Protocol):
    """Builds an engine over some users."""

    def __call__(self, private_half: type[PrivateHalf], ratings: Ratings) -> Engine: ...


class DividedEngine:
    """Users dealt out at random to some parts, one of them empty; exact totals of the parts are added up."""

    def __init__(self, private_half: type[PrivateHalf], ratings: Ratings) -> None:
        part = np.random.default_rng(11).integers(0, 5, ratings.n_users)
        self._parts = [private_half(ratings.take_users(np.flatnonzero(part == k))) for k in range(6)]

    def totals(self, query: Query[Any]) -> list[Total]:
        """The parts' totals, added up."""
        totals, *others = (exact_totals(part.contributions(query)) for part in self._parts)
        for other in others:
            totals = add_totals(totals, other)
        return totals


IN_MEMORY: dict[str, MakeEngine] = {"memory": MemoryEngine, "divided": DividedEngine}
"""Ways to add users up that write nothing."""

ENGINES: dict[str, MakeEngine] = {**IN_MEMORY, "disk": StoredEngine}
"""Every way to add users up that a record is replayed on."""


@dataclass(frozen=True)
class Run:
    """What was asked, what the users' contributions added up to, what was released, and what came of it.

    Notes
    -----
    **Privacy**. Totals are private: a record is for checks in the same process, and never leaves it.
    """

    method: PrivateMethod
    ratings: Ratings
    budget: Budget
    seed: int
    queries: list[Query[Any]]
    totals: list[list[Total]]
    releases: list[dict[str, Floats]]
    trained: Trained

    @property
    def n_users(self) -> int:
        """How many users there were; private."""
        return self.ratings.n_users

    def protocol(self) -> ProtocolRun:
        """The public half alone, at its beginning; there are no ratings here."""
        return converse_with(self.method, self.ratings, self.budget, self.seed)

    def users(self, which: Any = slice(None)) -> PrivateHalf:
        """The private half of some users, which has not been asked anything."""
        return self.method.private_half(self.ratings.take_users(which))


def converse_with(
    method: PrivateMethod, ratings: Ratings, budget: Budget, seed: int, share: float = 1.0
) -> ProtocolRun:
    """A protocol over the public facts about these ratings, with this share of the budget's mu to spend."""
    facts = Facts(ratings.n_items, ratings.scale, budget, share * Ledger(budget).remaining_mu)
    return ProtocolRun(method.public_half, method.settings, facts, seed)


def record(
    method: PrivateMethod,
    ratings: Ratings,
    budget: Budget,
    seed: int,
    noise: Callable[[], Noise] = Noise,
    journal: LedgerRun | None = None,
) -> Run:
    """Train and write everything down; charges are entered in ``journal`` first, where there is one."""
    gate = Gate(Ledger(budget), noise())
    gate.ledger.keep_in(journal)
    engine = MemoryEngine(method.private_half, ratings)
    protocol = converse_with(method, ratings, budget, seed)
    queries, all_totals, releases = [], [], []
    while (query := protocol.query) is not None:
        totals = engine.totals(query)
        release = gate.release_totals(query.name, query.mechanism.empty(), totals, mu=query.mu)
        for array in release.values():
            array.flags.writeable = False  # whoever writes into a release is found out
        queries.append(query)
        all_totals.append(totals)
        releases.append(release)
        protocol.take(release)
    assert protocol.trained is not None
    return Run(method, ratings, budget, seed, queries, all_totals, releases, protocol.trained)


def same_totals(one: Sequence[Total], other: Sequence[Total]) -> bool:
    """Whether names and integers are the same; the bound on partial sums may be looser in one of them."""
    return [total.name for total in one] == [total.name for total in other] and all(
        a.value.dtype == b.value.dtype and np.array_equal(a.value, b.value)
        for a, b in zip(one, other, strict=True)
    )


def answers(half: PrivateHalf, queries: Iterable[Query[Any]]) -> list[list[Total]]:
    """Exact totals of one set of users, query by query."""
    return [exact_totals(half.contributions(query)) for query in queries]
