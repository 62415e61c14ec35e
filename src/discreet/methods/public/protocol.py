"""The driver of all private methods: runs a public half query by query, with repeats and replay.

It sees no ratings, and no exact sum: what answers its queries are releases (:func:`discreet.methods.method.asking`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from discreet.errors import BudgetInvalid
from discreet.methods.public.half import Facts, PublicHalf, Queries
from discreet.methods.public.query import Query, Trained
from discreet.methods.public.settings import PrivateSettings
from discreet.privacy.gaussian.totals import Total
from discreet.types import Floats

__all__ = ["Engine", "Progress", "ProtocolRun", "Release", "run_protocol"]

Release = Mapping[str, Floats]
Progress = Callable[[str, int, int], None]

# A query is not asked again when less than this share of what it and all after it would have cost is left.
_LEAST_LEFT = 0.05


class Engine(Protocol):
    """Where the users are: in memory, on disk, on a cluster, at several organisations."""

    def totals(self, query: Query[Any]) -> Sequence[Total]:
        """Exact integer totals of all users' contributions, block by block; the same bits on every engine."""


@dataclass(frozen=True)
class _Released:
    release: Release
    noise_excess: float


@dataclass(frozen=True)
class _GivenUp:
    noise_excess: float


class ProtocolRun:
    """A position in a public half's run.

    Everything follows from the arguments and from what :meth:`take` and :meth:`repeat` were told, so a run that was
    stored can be replayed to where it was.

    Parameters
    ----------
    half, settings, facts
        Public.
    seed
        Of the ordinary randomness (starts, samples); a generator can be given where nothing will be replayed.
    spare
        Square of a Gaussian cost that is held back from the plan and pays for repeats, as far as it goes.
    """

    def __init__(
        self,
        half: PublicHalf,
        settings: PrivateSettings,
        facts: Facts,
        seed: int | np.random.Generator,
        spare: float = 0.0,
    ) -> None:
        self._half, self._settings, self._seed, self._spare = half, settings, seed, spare
        self._facts = replace(facts)
        self._steps: list[_Released | _GivenUp] = []
        self._live: _Position | None = None

    @property
    def query(self) -> Query[Any] | None:
        """The one to answer now; ``None`` at the end."""
        return self._position().query

    @property
    def trained(self) -> Trained | None:
        """What was learnt, at the end."""
        return self._position().trained

    @property
    def left_mu(self) -> float:
        """What the plan has left for the current query and all after it."""
        return self._position().left_mu

    @property
    def done(self) -> int:
        """How many queries have been answered."""
        return sum(isinstance(step, _Released) for step in self._steps)

    def copy(self) -> ProtocolRun:
        """An independent copy. The generator goes with the copy; the original is replayed if it is used again."""
        other = ProtocolRun(self._half, self._settings, self._facts, self._seed, self._spare)
        other._steps = list(self._steps)
        other._live, self._live = self._live, None
        return other

    def take(self, release: Release, noise_excess: float = 1.0) -> None:
        """Read the answer to the current query and go on to the next.

        Parameters
        ----------
        release
            As it came out of the gate.
        noise_excess
            How many times larger its noise was than what it cost asks for.

        Raises
        ------
        BudgetInvalid
            When the method finds that the budget does not carry the run.
        """
        self._step(_Released(release, noise_excess))

    def repeat(self, noise_excess: float = 1.0) -> None:
        """Ask the current query again after an attempt that was paid for and came to nothing.

        What it cost is taken from what was held back, as far as that goes. What is left is then spread over this
        query and all later ones in their planned proportions.

        Raises
        ------
        BudgetInvalid
            When hardly anything is left, as in the last round. Nothing has changed then.
        """
        self._step(_GivenUp(noise_excess))

    def forget(self) -> None:
        """Drop what a replay would need: a run that is never copied need not keep every release."""
        self._steps.clear()

    def _step(self, step: _Released | _GivenUp) -> None:
        position = self._position()
        try:
            position.apply(step)
        except BaseException:
            # A generator that has raised is over; where the run stood before is found by replay.
            self._live = None
            raise
        self._steps.append(step)

    def _position(self) -> _Position:
        if self._live is None:
            self._live = _Position(self._half, self._settings, self._facts, self._seed, self._spare)
            for step in self._steps:
                self._live.apply(step)
        return self._live


class _Position:
    """A running generator, what it has left to spend, and the query it has asked."""

    def __init__(
        self,
        half: PublicHalf,
        settings: PrivateSettings,
        facts: Facts,
        seed: int | np.random.Generator,
        spare: float,
    ) -> None:
        # The generator sees changes of the noise; the caller's facts stay as they are.
        self._facts = replace(facts)
        self._asking: Queries = half.train(settings, self._facts, np.random.default_rng(seed))
        self._left, self._spare, self._scale = facts.mu**2, spare, 1.0
        self._asked: Query[Any] | None = None
        self.trained: Trained | None = None
        self._advance(None)

    @property
    def query(self) -> Query[Any] | None:
        return None if self._asked is None else self._asked.at(self._asked.mu * self._scale)

    @property
    def left_mu(self) -> float:
        return float(np.sqrt(max(self._left, 0.0)))

    def apply(self, step: _Released | _GivenUp) -> None:
        query = self.query
        assert query is not None
        if isinstance(step, _GivenUp):
            self._repeat(query, step.noise_excess)
            return
        self._left -= query.mu**2
        self._facts.noise_excess = step.noise_excess / self._scale
        self._advance(query.mechanism.read(step.release, query.mu / step.noise_excess))

    def _repeat(self, query: Query[Any], noise_excess: float) -> None:
        spared = min(self._spare, query.mu**2)
        left = self._left - query.mu**2 + spared
        share = left / self._left
        if not share >= _LEAST_LEFT:
            raise BudgetInvalid(
                f"{query.name!r} cannot be repeated: after the attempt that was paid for, {max(share, 0.0):.0%} of "
                "what was meant for it and all later rounds is left"
            )
        self._left, self._spare, self._scale = left, self._spare - spared, self._scale * float(np.sqrt(share))
        self._facts.noise_excess = noise_excess / self._scale

    def _advance(self, reply: Any) -> None:
        try:
            self._asked = self._asking.send(reply)
        except StopIteration as end:
            self._asked, self.trained = None, end.value


def run_protocol(
    half: PublicHalf,
    settings: PrivateSettings,
    facts: Facts,
    rng: np.random.Generator,
    answer: Callable[[Query[Any]], Release],
    progress: Progress | None = None,
) -> Trained:
    """The one driver: query, release, next query, until the public half is done; ``answer`` makes the releases."""
    protocol = ProtocolRun(half, settings, facts, rng)
    done = 0
    while (query := protocol.query) is not None:
        # Where the number is not known yet, this query is not the last.
        _report(progress, done, done + 2 if query.planned is None else query.planned)
        protocol.take(answer(query), facts.noise_excess)
        protocol.forget()
        done += 1
    _report(progress, done, done)
    trained = protocol.trained
    assert trained is not None
    return trained


def _report(progress: Progress | None, done: int, planned: int) -> None:
    if progress is not None:
        progress("training", done, max(planned, done, 1))
