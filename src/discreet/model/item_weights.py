"""A model of lists: a table of what each item of a history adds to others, and popularity.

    score of item j = base_j + sum over the history of opinion_i * weight_ij

The base is what is expected of somebody of whom nothing is known: popularity, above all. An opinion is 1 for a click
or the best rating and below 0 for a bad one (`RatingScale.opinions`). Everything is released or follows from releases,
so a person's list costs no privacy budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from discreet import kernels
from discreet.catalogue.scale import Goal, RatingScale
from discreet.errors import ModelInvalid
from discreet.model.item_side import ItemSide
from discreet.model.likeness import Likeness, joined
from discreet.model.recommendations import FEW_STAND_OUT, NO_TASTE, NOTHING_LEARNT, TRUSTED, Mark, Neighbours
from discreet.model.wire import check_rows, check_shapes
from discreet.types import Bools, Floats, Indices, Ints, Singles

__all__ = ["AnySide", "Evidence", "ItemWeights", "Sums"]


class Evidence(NamedTuple):
    """Some people's histories, as compressed rows of items and opinions."""

    indptr: Indices
    items: Indices
    opinions: Floats

    def __len__(self) -> int:
        return len(self.indptr) - 1


@dataclass(frozen=True, eq=False)
class Sums:
    """The released sums themselves, for a later run to be added to.

    Parameters
    ----------
    head
        Positions of the items that pairs were counted of, ascending.
    pairs
        The triangle above the diagonal (`discreet.kernels.pair_place`).
    sigma
        Standard deviation of the noise of a pair.
    counts_sigma, users, users_sigma
        Noise of a count (`ItemWeights.counts`); the noisy number of people, and its noise.
    """

    head: npt.NDArray[np.int32]
    pairs: Singles
    sigma: float
    counts_sigma: float
    users: float
    users_sigma: float


@dataclass(frozen=True, eq=False)
class ItemWeights:
    """Sparse weights between items, and how often each item is taken.

    Parameters
    ----------
    scale
        Of the histories.
    counts
        Released: how much each item was taken, with its noise.
    base
        Every item's score without a history.
    starts, others, weights
        Compressed sparse rows: what an item of a history adds, and to which others.
    together
        Released: how much the two items of each weight were taken together, with its noise.
    mass
        How much each item is taken together with itself: what likeness is measured by.
    noise
        Standard deviation of the noise in ``together``.
    sums
        All released sums, where the model carries them (``start=``).
    likeness
        What features say of the items, where there are any: for what is outside the head, and for new items.
    """

    scale: RatingScale
    counts: Floats
    base: Floats
    starts: Ints
    others: npt.NDArray[np.int32]
    weights: Singles
    together: Singles
    mass: Floats
    noise: float
    sums: Sums | None = field(default=None)
    likeness: Likeness | None = field(default=None)

    @property
    def n_items(self) -> int:
        return len(self.counts)

    @property
    def rank(self) -> int:
        """A table has no factors."""
        return 0

    @property
    def goal(self) -> Goal:
        return "rank"

    @property
    def takes_dislikes(self) -> bool:
        """A history may name what somebody does not like, of clicks as well."""
        return True

    @property
    def feature_columns(self) -> int | None:
        return None if self.likeness is None else len(self.likeness.roots)

    @property
    def best_known(self) -> Indices:
        """Positions of all items, the most popular first."""
        order: Indices = np.argsort(-self.counts, kind="stable")
        return order

    @property
    def untrained(self) -> bool:
        return not (self.counts.any() or self.mass.any() or len(self.others) or self.sums)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about every list, and of popularity alone how far it is to be trusted."""
        if not self.same_for_all:
            return ()
        if self.says_nothing:
            return (NOTHING_LEARNT,)
        if self.standing_out is None:
            return (NO_TASTE,)
        return NO_TASTE, TRUSTED.format(self.standing_out, self.n_items)

    @property
    def known(self) -> Bools:
        """Which items the table speaks of."""
        known: Bools = np.diff(self.starts) > 0
        known[self.others] = True
        return known

    @cached_property
    def counted(self) -> Bools:
        """Which items have weights from counted pairs."""
        counted = np.zeros(self.n_items, np.bool_)
        counted[self._rows[self.together != 0.0]] = True
        return counted

    @property
    def _rows(self) -> Ints:
        """From which item each weight is."""
        return np.repeat(np.arange(self.n_items), np.diff(self.starts))

    @property
    def same_for_all(self) -> bool:
        """Whether nothing stood out of the noise: everybody's list is popularity."""
        return len(self.others) == 0

    @cached_property
    def says_nothing(self) -> bool:
        """Whether not even popularity stood out of the noise: there is nothing to order a list by."""
        return self.same_for_all and self.n_items > 1 and bool(np.ptp(self.base) == 0.0)

    @cached_property
    def standing_out(self) -> int | None:
        """How many items are more popular than the average by over two deviations of the noise, where it is known."""
        if self.sums is None or not self.sums.counts_sigma:
            return None
        return int(np.count_nonzero(self.counts - self.counts.mean() > 2.0 * self.sums.counts_sigma))

    @cached_property
    def table(self) -> kernels.Table:
        """The weights as the kernels read them."""
        return kernels.Table(self.starts, self.others, self.weights)

    def fold_in(self, indptr: Indices, items: Indices, values: Floats) -> Evidence:
        """Each person's opinions, from that person's ratings alone."""
        return Evidence(indptr, items, self.scale.opinions(values))

    def predict(self, evidence: Evidence, users: Indices, items: Indices) -> Floats:
        """Scores for pairs of a person's row and an item."""
        return kernels.table_scores(evidence, self.table, self.base, users, items)

    def score_pairs(self, evidence: Evidence, users: Indices, items: Indices) -> tuple[Floats, Floats]:
        """What orders lists, and what is predicted: the same."""
        scores = self.predict(evidence, users, items)
        return scores, scores

    def clipped(self, scores: Floats) -> Floats:
        return scores

    def top(
        self,
        evidence: Evidence,
        n: int,
        seen: tuple[Indices, Indices] | None = None,
        allowed: Bools | None = None,
    ) -> tuple[npt.NDArray[np.int32], Floats]:
        """Positions (-1 where fewer remain) and scores (NaN there) of the ``n`` best items of each person."""
        indptr, items = (None, None) if seen is None else seen
        if self.says_nothing:
            allowed = np.zeros(self.n_items, np.bool_)
        n = min(n, self.n_items)
        return kernels.table_top(
            evidence, self.table, self.base, n, exclude_indptr=indptr, exclude_items=items, allowed=allowed
        )

    def common(self, item: int) -> tuple[float, float]:
        """What is the same for everybody: nothing in the middle, and the item's own base."""
        return 0.0, float(self.base[item])

    def terms(
        self, indptr: Indices, items: Indices, values: Floats, item: int
    ) -> tuple[float, Floats, Floats]:
        """What each entry of one person's history adds to an item; nothing is said without one, nor by a level."""
        added = np.zeros(len(items))
        opinions = self.scale.opinions(values)
        for place, (one, opinion) in enumerate(zip(items, opinions, strict=True)):
            row = slice(int(self.starts[one]), int(self.starts[one + 1]))
            (found,) = np.nonzero(self.others[row] == item)
            if len(found):
                added[place] = opinion * float(self.weights[row][found[0]])
        return 0.0, np.zeros(len(items)), added

    def similar(self, item: int, n: int, name: str) -> Neighbours:
        """The items that stand out as taken with this one, the most alike first.

        Likeness is how often two items are taken together over the root of how often each is: at most about 1. Of the
        noise in thousands of pairs the largest would pass for likeness, so a pair must stand out of all of them: more
        than sqrt(2 log M) of its deviations, for M items whose pairs were counted. Of the others, features say what is
        alike, if anything does; the noise has no part in that (NaN).
        """
        if self.likeness is not None and not self.counted[item]:
            others, alike = self.likeness.nearest(item)
            found = Neighbours(others[:n], alike[:n], np.full(len(others[:n]), np.nan))
            if not len(others):
                return found._replace(notes=(_UNCOUNTED.format(name), FEW_STAND_OUT))
            return found._replace(notes=(_GUESSED.format(name),))
        row = slice(int(self.starts[item]), int(self.starts[item + 1]))
        others, together = self.others[row], self.together[row].astype(np.float64)
        bar = self.noise * math.sqrt(2.0 * math.log(max(int(np.count_nonzero(self.counted)), 2)))
        out = together > bar
        others, together = others[out], together[out]
        scale = 1.0 / np.sqrt(self.mass[item] * self.mass[others])
        order = np.argsort(-together * scale, kind="stable")[:n]
        notes = () if len(order) == n else (FEW_STAND_OUT,)
        return Neighbours(others[order], (together * scale)[order], (self.noise * scale)[order], notes)

    def marks(self, items: Iterable[int]) -> list[Mark | None]:
        """Which of these items were added after training."""
        known = self.n_items if self.likeness is None else self.n_items - self.likeness.added
        return ["guess" if item >= known else None for item in items]

    def with_items(self, features: csr_array) -> ItemWeights:
        """With more items at the end, as popular as the average item, and taken with what features say is like them."""
        assert self.likeness is not None
        count = features.shape[0]
        likeness = self.likeness.with_rows(features)
        old = self._rows, self.others.astype(np.int64), self.weights
        rows, others, weights = joined([old, likeness.new_weights(count)])
        order = np.lexsort((others, rows))
        together = np.concatenate([self.together, np.zeros(len(rows) - len(self.others), np.float32)])
        return replace(
            self,
            counts=np.concatenate([self.counts, np.zeros(count)]),
            base=np.concatenate([self.base, np.full(count, self.base.mean())]),
            mass=np.concatenate([self.mass, likeness.mass[-count:]]),
            starts=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=likeness.n_items))]),
            others=others[order].astype(np.int32),
            weights=weights[order],
            together=together[order],
            likeness=likeness,
        )

    def check(self) -> None:
        """Refuse arrays that do not fit each other, or numbers that are not finite (`ModelInvalid`)."""
        m, entries = self.counts.size, self.others.size
        check_shapes(self, counts=(m,), base=(m,), mass=(m,), starts=(m + 1,))
        check_shapes(self, others=(entries,), weights=(entries,), together=(entries,))
        if not m:
            raise ModelInvalid("there are no items")
        check_rows(self.starts, self.others, m, "the table")
        rising = self.others[1:] > self.others[:-1]
        firsts = self.starts[1:-1]
        rising[firsts[(firsts > 0) & (firsts < entries)] - 1] = True
        if not rising.all():
            raise ModelInvalid("the items of a row of the table must be ascending")
        if (self.mass < 0.0).any() or not 0.0 <= self.noise < math.inf:
            raise ModelInvalid("masses and the noise must be finite and not below 0")
        if (self.mass[self.known] < np.finfo(np.float32).tiny).any():
            raise ModelInvalid("an item with weights has no mass")
        if self.sums is not None:
            self._check_sums(self.sums)
        if self.likeness is not None:
            self.likeness.check(m)

    def _check_sums(self, sums: Sums) -> None:
        order = sums.head.size
        check_shapes(sums, head=(order,), pairs=(order * (order - 1) // 2,))
        if not (sums.head[1:] > sums.head[:-1]).all():
            raise ModelInvalid("the head must be ascending")
        if order and (sums.head[0] < 0 or sums.head[-1] >= self.n_items):
            raise ModelInvalid("the head names an item that is not there")
        if not all(0.0 <= size < math.inf for size in (sums.sigma, sums.counts_sigma, sums.users_sigma)):
            raise ModelInvalid("a size of noise in the sums is not finite, or below 0")


_GUESSED = "no pairs of {} were counted: what is like it is guessed from its features"
_UNCOUNTED = "no pairs of {} were counted, and features do not say what is like it"

AnySide: TypeAlias = ItemSide | ItemWeights
"""What a model is made of: factors, or a table of weights."""
