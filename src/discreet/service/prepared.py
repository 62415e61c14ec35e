"""A model laid out for many single requests: what does not depend on the person is computed once.

Answers are those of `discreet.model.Model.recommend`: the same rules fold people in, the same kernel ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.model import Model, Recommendation, Recommendations
from discreet.model.history import ReadHistory, locate
from discreet.model.item_weights import Evidence, ItemWeights
from discreet.service.messages import RecommendRequest
from discreet.service.ranked import RankedFactors, RankedTable, Seen
from discreet.service.search import Search
from discreet.types import Bools, Floats
from discreet.web.known import well_known

__all__ = ["Person", "Prepared"]


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
        self._ranked_by = RankedTable(side) if isinstance(side, ItemWeights) else RankedFactors(side)
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
            Seen(np.cumsum([0, *map(len, seen)]), np.concatenate(seen)),
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
