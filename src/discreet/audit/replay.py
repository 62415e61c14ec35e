"""Record and replay: one run is written down, and its queries are asked again with one user more or less.

Given the same releases, the two runs ask the same queries. What differs before the noise is then exactly what each
release's bound is about: the length of the difference of two vectors of integers, in standard deviations of the noise,
against the mu that was charged. Integers are compared, so nothing here is a matter of chance. The users who come and go
are synthetic, and try to count for more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from discreet.audit.bounds import ReleaseFinding, ReplayFinding
from discreet.data.ratings import Ratings
from discreet.engines.memory import MemoryEngine
from discreet.methods.method import PrivateMethod
from discreet.methods.private_half import PrivateHalf
from discreet.methods.public.half import Facts
from discreet.methods.public.protocol import Engine, ProtocolRun
from discreet.methods.public.query import Query, Trained
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.totals import Total, add_totals, exact_totals
from discreet.privacy.ledger import Ledger
from discreet.types import Floats

__all__ = [
    "ENGINES",
    "DividedEngine",
    "MakeEngine",
    "Move",
    "Run",
    "Scales",
    "answers",
    "converse_with",
    "distance",
    "moved",
    "noise_scales",
    "record",
    "replay",
    "same_totals",
    "strangers",
    "together",
    "whitened",
]


class Scales(Noise):
    """No noise at all, but a record of the scales that were asked for, in the order of the blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Floats] = []

    def integers(self, sigma: Floats) -> Floats:
        """Zeros; notes the scale."""
        self.drawn.append(sigma.copy())
        return np.zeros_like(sigma)

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        """Zeros; notes the scale of the full matrix before it is symmetrised."""
        self.drawn.append(np.broadcast_to(sigma[:, None, None], (sigma.size, order, order)))
        return np.zeros((sigma.size, order, order))


def noise_scales(forms: Sequence[Block], mu: float) -> list[Floats]:
    """The noise that these blocks draw for every entry of their sums."""
    scales = Scales()
    for form in forms:
        form.noise(scales, mu)
    return scales.drawn


def whitened(arrays: Sequence[Floats], scales: Sequence[Floats]) -> Floats:
    """All entries of all blocks in standard deviations of their noise, one after the other.

    For a symmetric matrix the scale is that of the full matrix before it was symmetrised, and all entries count: the
    inner product with a symmetric direction of norm 1 then has variance 1, diagonal or not.
    """
    parts = [
        (array / scale.reshape(array.shape)).ravel() for array, scale in zip(arrays, scales, strict=True)
    ]
    return np.concatenate([np.zeros(0), *parts])


def distance(moved: Sequence[Floats], forms: Sequence[Block], mu: float) -> float:
    """Length of a change of the exact sums in standard deviations of the noise, divided by the mu that is paid."""
    return float(np.linalg.norm(whitened(moved, noise_scales(forms, mu)))) / mu


# More items than this make a stranger no louder, only slower to ask.
_MOST_ITEMS = 2_000


def strangers(ratings: Ratings, seed: int) -> Ratings:
    """Synthetic users over the same catalogue and scale, of which alone they follow.

    All items or one, everything at the top, at the bottom, at both ends, in between, and nobody's ordinary few.
    """
    rng = np.random.default_rng(seed)
    most = min(ratings.n_items, _MOST_ITEMS)
    sizes = [most, most, most, most, 1, 1, 0, *rng.integers(1, most + 1, 5)]
    rows = [np.sort(rng.choice(ratings.n_items, size, replace=False)) for size in sizes]
    values = [_values(ratings, place, len(row), rng) for place, row in enumerate(rows)]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return replace(
        ratings,
        indptr=indptr,
        items=np.concatenate(rows).astype(ratings.items.dtype),
        values=np.concatenate(values),
        user_ids=np.arange(len(sizes)),
    )


def _values(ratings: Ratings, place: int, size: int, rng: np.random.Generator) -> Floats:
    if ratings.rating_range is None:
        return np.ones(size)
    low, high = ratings.rating_range
    extremes = {0: (high, high), 1: (low, low), 2: (low, high), 4: (high, high), 5: (low, low)}
    if place in extremes:
        return np.resize(np.array(extremes[place], dtype=np.float64), size)
    return rng.uniform(low, high, size)


def together(one: Ratings, other: Ratings) -> Ratings:
    """Users of both, those of ``other`` last; over the same catalogue."""
    return replace(
        one,
        indptr=np.concatenate([one.indptr, one.indptr[-1] + other.indptr[1:]]),
        items=np.concatenate([one.items, other.items]),
        values=np.concatenate([one.values, other.values]),
        # Ids mean nothing here, and those of two sources may clash.
        user_ids=np.arange(one.n_users + other.n_users),
    )


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


ENGINES: dict[str, MakeEngine] = {"memory": MemoryEngine, "divided": DividedEngine}
"""Ways to add users up that a record is replayed on; they write nothing."""


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
) -> Run:
    """Train and write everything down."""
    gate = Gate(Ledger(budget), noise())
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


def replay(method: PrivateMethod, ratings: Ratings, budget: Budget, *, seed: int = 0) -> ReplayFinding:
    """Train on ``ratings`` and some strangers, and replay it with each of those added or removed."""
    there, coming = strangers(ratings, seed), strangers(ratings, seed + 1)
    run = record(method, together(ratings, there), budget, seed)
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
        for name, engine in ((name, make(method.private_half, run.ratings)) for name, make in ENGINES.items())
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
