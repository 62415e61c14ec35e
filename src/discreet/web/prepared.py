"""A model laid out for many single requests: what does not depend on the person is computed once.

Answers are those of `discreet.model.Model.recommend`: the same rules fold people in, the same kernel ranks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.kernels.ranking import panels
from discreet.model import Model, Recommendation, Recommendations
from discreet.model.fold_in.histories import Rows
from discreet.model.history import ReadHistory, locate
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import Evidence, ItemWeights
from discreet.types import Bools, Floats, Indices
from discreet.web.packed import well_known
from discreet.web.requests import RecommendRequest
from discreet.web.search import Search

__all__ = ["Batches", "Person", "Prepared"]

_Best: TypeAlias = tuple[npt.NDArray[np.int32], Floats]


@dataclass(frozen=True)
class Person:
    """What is known of whoever asks, for as long as the request lasts."""

    request: RecommendRequest
    read: ReadHistory
    coefficients: Floats | Evidence
    allowed: Bools | None
    strangers: int


class Prepared:
    """Released arrays in the order in which requests need them.

    Parameters
    ----------
    model
        Whatever trained it.
    digest
        What the model is named by in answers.
    """

    def __init__(self, model: Model, digest: str) -> None:
        self.model, self.digest = model, digest
        side = model.item_side
        self._ranked_by = _Table(side) if isinstance(side, ItemWeights) else _Factors(side)
        self._ids = model.catalogue.ids.tolist()
        self._titles = [model.catalogue.titles.get(one) for one in self._ids]
        model.catalogue.index([self._ids[0]])  # the index of ids is made now and not by the first request

    def person(self, request: RecommendRequest) -> Person:
        """Check a request and fold its history in.

        Raises
        ------
        HistoryInvalid
            As `Model.recommend` does.
        """
        model = self.model
        history = request.owned(model.item_side.scale.explicit)
        read = model.read_history(history, request.unknown_items, request.disliked)
        allowed, strangers = self._allowed(request)
        return Person(request, read, self._ranked_by.fold_in(read), allowed, strangers)

    def recommend(self, persons: Sequence[Person]) -> list[Recommendations]:
        """The answers to several requests at once; only those without filters share a ranking."""
        free = [person for person in persons if person.allowed is None]
        found = dict(zip(map(id, free), self._ranked(free, None), strict=True))
        for person in persons:
            if person.allowed is not None:
                (found[id(person)],) = self._ranked([person], person.allowed)
        return [found[id(person)] for person in persons]

    def items(self, positions: Sequence[int]) -> list[dict[str, int | str]]:
        """Ids and titles, by position."""
        return [
            {"item": self._ids[place]} | ({} if (title := self._titles[place]) is None else {"title": title})
            for place in positions
        ]

    @cached_property
    def search(self) -> Search:
        """Finds items by their titles."""
        titles = [
            str(one) if title is None else title for one, title in zip(self._ids, self._titles, strict=True)
        ]
        return Search(titles, well_known(self.model).tolist())

    def _allowed(self, request: RecommendRequest) -> tuple[Bools | None, int]:
        if request.allowed is None and request.blocked is None:
            return None, 0
        mask, strangers = np.full(len(self._ids), request.allowed is None), 0
        lists = (("allowed", request.allowed, True), ("blocked", request.blocked, False))
        for name, ids, value in lists:
            where = f"the list of {name} items"
            index, missing = locate(ids or [], self.model.catalogue, where, request.unknown_items)
            mask[index[index >= 0]] = value
            strangers += missing
        return mask, strangers

    def _ranked(self, persons: Sequence[Person], allowed: Bools | None) -> list[Recommendations]:
        if not persons:
            return []
        seen = [
            person.read.items if person.request.exclude_seen else person.read.items[:0] for person in persons
        ]
        index, scores = self._ranked_by.best(
            [person.coefficients for person in persons],
            min(max(person.request.n for person in persons), len(self._ids)),
            _Seen(np.cumsum([0, *map(len, seen)]), np.concatenate(seen)),
            allowed,
        )
        rows = zip(persons, index, scores, strict=True)
        return [self._named(person, best, score) for person, best, score in rows]

    def _named(self, person: Person, index: npt.NDArray[np.int32], scores: Floats) -> Recommendations:
        request = person.request
        found = index[: request.n][index[: request.n] >= 0]
        given = scores[: len(found)]
        known = self._ranked_by.marks
        marks = [None] * len(found) if known is None else known[found]
        entries = tuple(
            Recommendation(self._ids[place], score, self._titles[place], mark)
            for place, score, mark in zip(found.tolist(), given.tolist(), marks, strict=True)
        )
        ignored = person.read.ignored + person.strangers
        return Recommendations(entries, request.n, ignored, self.model.notes)


class Batches:
    """Requests that arrive together are ranked together: eight lists take little longer than one.

    It collects what one turn of the event loop brings, and ranks it before the next; nobody waits for more.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Prepared, Person, asyncio.Future[Recommendations]]] = []

    async def recommend(self, prepared: Prepared, person: Person) -> Recommendations:
        """The list for one person, ranked with those who came at the same time."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Recommendations] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._rank)
        self._waiting.append((prepared, person, future))
        return await future

    def _rank(self) -> None:
        waiting, self._waiting = self._waiting, []
        for prepared in {id(one): one for one, _, _ in waiting}.values():  # two, while models are exchanged
            here = [(person, future) for one, person, future in waiting if one is prepared]
            found: Sequence[Recommendations | Exception]
            try:
                found = prepared.recommend([person for person, _ in here])
            except Exception as error:
                found = [error] * len(here)
            for (_, future), answer in zip(here, found, strict=True):
                if future.done():
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)


class _Seen(NamedTuple):
    """Items that are not to be listed, as compressed rows of people."""

    indptr: Indices
    items: Indices


@dataclass(frozen=True)
class _Touched:
    """The rows of the released arrays that one history touches: all that folding a person in looks at."""

    centre: float
    offsets: Floats
    factors: Floats
    moments: tuple[Floats, Floats]


class _Factors:
    """Factors in the order in which the ranking reads them; ``marks`` is one for each item, or ``None``."""

    def __init__(self, side: ItemSide) -> None:
        self._side = side
        self._panels = panels(side.design())
        self._base = side.offsets + side.centre
        self._moments = side.moments
        self.marks: npt.NDArray[Any] | None = None
        if side.doubt is not None:
            self.marks = np.array(side.doubt.marks(np.arange(side.n_items)), dtype=object)

    def fold_in(self, read: ReadHistory) -> Floats:
        """One person's coefficients."""
        side, items = self._side, read.items
        touched = _Touched(side.centre, side.offsets[items], side.factors[items], self._moments)
        values = side.scale.opinions(read.values) if side.goal == "rank" else read.values
        rows = Rows(read.indptr, np.arange(len(items), dtype=np.int32), values)
        return side.rule.coefficients(touched, rows, np.float64)

    def best(self, people: Sequence[Any], n: int, seen: _Seen, allowed: Bools | None) -> _Best:
        """Positions and scores of the ``n`` best items of each."""
        index, scores = kernels.top_n(
            np.concatenate(people),
            self._panels,
            self._base,
            n,
            exclude_indptr=seen.indptr,
            exclude_items=seen.items,
            allowed=allowed,
        )
        return index, self._side.clipped(scores)


class _Table:
    """A table, which is laid out as it is."""

    marks: npt.NDArray[Any] | None = None

    def __init__(self, side: ItemWeights) -> None:
        self._side = side

    def fold_in(self, read: ReadHistory) -> Evidence:
        """One person's opinions."""
        return self._side.fold_in(read.indptr, read.items, read.values)

    def best(self, people: Sequence[Any], n: int, seen: _Seen, allowed: Bools | None) -> _Best:
        """Positions and scores of the ``n`` best items of each."""
        evidence = Evidence(
            np.cumsum([0, *(len(one.items) for one in people)]),
            np.concatenate([one.items for one in people]),
            np.concatenate([one.opinions for one in people]),
        )
        return self._side.top(evidence, n, seen, allowed)
