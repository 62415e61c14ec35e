"""A model of factors: what each item is like, and how one user's vector follows from it.

These arrays are public. ``fold_in`` runs on one user's own ratings and the public arrays only, so it costs no
privacy budget, in training and afterwards; the same function serves both, which is why a user who was never in
the training data is treated exactly like one who was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from discreet import kernels
from discreet.catalogue.scale import Goal, RatingScale
from discreet.errors import HistoryInvalid, ModelInvalid, SettingsInvalid
from discreet.kernels.ranking import Panels, panels
from discreet.model.fold_in import Arrays, Clicks, FoldIn, Ridge, Rows
from discreet.model.recommendations import BY_POPULARITY, NOTHING_LEARNT, SAME_ORDER, Mark, Neighbours
from discreet.model.wire import check_shapes
from discreet.types import Bools, Floats, Indices

__all__ = ["UNKNOWN_FROM", "FeatureMap", "ItemSide"]

UNKNOWN_FROM = 0.9
"""An item is unknown when this much of the variance is left that it had before anything was learnt."""
_FEW = 16
"""People whose lists are made from rows laid out beforehand; more are ranked by whatever ranks, a GPU as well."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """What is expected of an item from its features alone: a linear map to offset and factors.

    Parameters
    ----------
    weights
        Columns of the catalogue's feature matrix x (1 + rank); the offset comes first.
    base
        1 + rank numbers: what an item without any feature gets.
    noise_ratio
        Of a guess, as in `ItemSide`.
    """

    weights: Floats
    base: Floats
    noise_ratio: float

    def __post_init__(self) -> None:
        _in_rows(self, "weights", "base")

    def guess(self, features: csr_array) -> Floats:
        """Items x (1 + rank): offset and factors that rows of features lead one to expect."""
        guessed: Floats = self.base + features @ self.weights
        return guessed

    def check(self, rank: int) -> None:
        """Refuse arrays that do not fit the model, or numbers that are not finite (`ModelInvalid`)."""
        check_shapes(self, weights=(*self.weights.shape[:1], 1 + rank), base=(1 + rank,))
        if not 0.0 <= self.noise_ratio <= 1.0:
            raise ModelInvalid(f"the feature map's noise_ratio is {self.noise_ratio}, not between 0 and 1")


@dataclass(frozen=True, eq=False)
class ItemSide:
    """Offsets, factors and the rule by which people are folded in.

    Parameters
    ----------
    scale
        Of the histories; predicted ratings are clipped to it.
    centre
        Public middle of the model, usually the middle of the rating range; 0 for clicks.
    offsets, factors
        ``b`` (items) and ``V`` (items x rank).
    rule
        How a history becomes coefficients: one of :mod:`discreet.model.fold_in`.
    popularity
        Released estimate of how often each item is taken, in any unit, where there is one beside the offsets.
    noise_ratio
        How much of what is said of each item is noise, where the method says so: the share of its variance that is
        left, from 0 (nothing is noise) to 1 (nothing was learnt). It follows from the noise that was added.
    guessed
        Which items were added after training; ``None`` means none of them.
    feature_map
        What it expects of an item from its features alone, where it was trained with features.

    Attributes
    ----------
    by_popularity
        Whether lists are ordered by popularity times the predicted rating above the lowest, as on a device
        (``discreet/devices/device/item_side.py``); `discreet.Model` sets it for methods that do so.
    """

    scale: RatingScale
    centre: float
    offsets: Floats
    factors: Floats
    rule: FoldIn
    popularity: Floats | None = None
    noise_ratio: Floats | None = None
    guessed: Bools | None = None
    feature_map: FeatureMap | None = None
    by_popularity: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _in_rows(self, "offsets", "factors", "popularity", "noise_ratio")

    @property
    def n_items(self) -> int:
        """Number of items in the catalogue."""
        return int(self.offsets.shape[0])

    @property
    def rank(self) -> int:
        """Number of factors; 0 means offsets alone."""
        return int(self.factors.shape[1])

    @property
    def goal(self) -> Goal:
        """``"rank"``: scores of what people take, or of what they like; ``"rate"``: ratings."""
        return "rank" if isinstance(self.rule, Clicks) or not self.scale.explicit else "rate"

    @property
    def takes_dislikes(self) -> bool:
        """Whether a history may name what somebody does not like."""
        return self.scale.explicit

    @property
    def feature_columns(self) -> int | None:
        """For how many columns of features it has guesses; ``None`` for a model without."""
        return None if self.feature_map is None else len(self.feature_map.weights)

    @property
    def ridge(self) -> Ridge:
        """The rule of a model that folds people in by ridge regression; an error for any other."""
        assert isinstance(self.rule, Ridge)
        return self.rule

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """``V^T V`` and ``V^T b`` over the items of training: one that was added says nothing by not being taken."""
        factors, offsets = self.factors, self.offsets
        if self.guessed is not None:
            factors, offsets = factors[~self.guessed], offsets[~self.guessed]
        return factors.T @ factors, factors.T @ offsets

    @property
    def known(self) -> Bools:
        """Of which items training learnt something; all of them where the model does not say how sure it is."""
        return ~(self.unknown | self.added)

    @property
    def added(self) -> Bools:
        """Which items were added after training."""
        return np.zeros(self.n_items, np.bool_) if self.guessed is None else self.guessed

    @cached_property
    def unknown(self) -> Bools:
        """Of which items next to nothing was learnt; a guess is none of them."""
        if self.noise_ratio is None:
            return np.zeros(self.n_items, np.bool_)
        return (self.noise_ratio >= UNKNOWN_FROM) & ~self.added

    @property
    def same_for_all(self) -> bool:
        """Whether everybody's items are in the same order: no factors, and no item leans on the user's own mean."""
        return self.rank == 0 and len(set(self.rule.shown(self.n_items).tolist())) == 1

    @property
    def best_known(self) -> Indices:
        """Positions of all items, the best known first, as far as the model says; added ones come last."""
        known = self.offsets if self.noise_ratio is None else -self.noise_ratio
        order: Indices = np.lexsort((-(known if self.popularity is None else self.popularity), self.added))
        return order

    @property
    def untrained(self) -> bool:
        """Whether the arrays could be there without any ratings."""
        extras = (self.popularity, self.noise_ratio, self.feature_map)
        return self.rank == 0 and not self.offsets.any() and all(extra is None for extra in extras)

    @property
    def says_nothing(self) -> bool:
        """Whether lists are by popularity and that is the same for all items: there is nothing to list."""
        popularity = self.popularity if self.by_popularity and self.n_items > 1 else None
        return popularity is not None and bool(np.ptp(popularity) == 0.0)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about every list, in whole sentences."""
        if self.says_nothing:
            return (NOTHING_LEARNT,)
        order = (BY_POPULARITY,) if self.by_popularity else ()
        return (*order, SAME_ORDER) if self.same_for_all else order

    def fold_in(
        self, indptr: Indices, items: Indices, values: Floats, *, kind: type[np.floating] = np.float64
    ) -> Floats:
        """Each user's own coefficients, users x (1 + rank), from that user's ratings alone.

        ``kind`` is the arithmetic of the solves: training takes float32, whose outcome goes onto a 14-bit grid anyway.
        """
        rows = self._rows(indptr, items, values)
        if 8 * len(items) > self.n_items:
            return self.rule.coefficients(self.arrays, rows, kind)
        touched, places = np.unique(items, return_inverse=True)  # one person's: few rows are looked at
        offsets, factors = self.offsets[touched], self.factors[touched]
        rows = rows._replace(items=places.astype(np.int32))
        return self.rule.coefficients(self.arrays._replace(offsets=offsets, factors=factors), rows, kind)

    @property
    def arrays(self) -> Arrays:
        """What the rules look at."""
        moments = self.moments if isinstance(self.rule, Clicks) else None
        return Arrays(self.centre, self.offsets, self.factors, moments)

    def predict(self, coefficients: Floats, users: Indices, items: Indices) -> Floats:
        """Predicted rating or score for pairs of user row and item index."""
        raw = kernels.dot_pairs(users, items, coefficients, self.design)
        raw += self.centre + self.offsets[items]
        return self.clipped(raw)

    def score_pairs(self, coefficients: Floats, users: Indices, items: Indices) -> tuple[Floats, Floats]:
        """What orders lists, and what `predict` says, of pairs of user row and item index."""
        design, level = self.order_terms
        order: Floats = level[items] + kernels.dot_pairs(users, items, coefficients, design)
        return order, self.predict(coefficients, users, items) if self.by_popularity else self.clipped(order)

    def clipped(self, predictions: Floats) -> Floats:
        """Predicted ratings brought into the range; scores stay as they are."""
        return self.scale.clipped(predictions) if self.goal == "rate" else predictions

    @cached_property
    def order_terms(self) -> tuple[Floats, Floats]:
        """Items x (1 + rank) and one number an item: what orders a list is coefficients . row + number."""
        if not self.by_popularity or self.popularity is None:
            return self.design, self.offsets + self.centre
        rows = np.column_stack([np.zeros(self.n_items), self.popularity[:, None] * self.factors])
        return rows, self.popularity * (self.centre - self.scale.bounds[0] + self.offsets)

    def top(
        self,
        coefficients: Floats,
        n: int,
        seen: tuple[Indices, Indices] | None = None,
        allowed: Bools | None = None,
    ) -> tuple[npt.NDArray[np.int32], Floats]:
        """Positions (-1 where fewer remain) and scores (NaN there) of the ``n`` best items of each user.

        The order follows the unclipped score, so that items above the range are still told apart; the score that is
        handed out is the same number that `predict` gives.
        """
        if self.says_nothing:
            allowed = np.zeros(self.n_items, np.bool_)
        design, level = self.order_terms
        indptr, items = (None, None) if seen is None else seen
        laid_out = self._panels if len(coefficients) <= _FEW else design
        index, scores = kernels.top_n(
            coefficients, laid_out, level, min(n, self.n_items), indptr, items, allowed
        )
        if not self.by_popularity:
            return index, self.clipped(scores)
        found = index >= 0
        scores[found] = self.predict(coefficients, np.nonzero(found)[0], index[found])
        return index, scores

    def common(self, item: int) -> tuple[float, float]:
        """What is the same for everybody: the centre, and the item's own offset."""
        return float(self.centre), float(self.offsets[item])

    def terms(
        self, indptr: Indices, items: Indices, values: Floats, item: int
    ) -> tuple[float, Floats, Floats]:
        """An item's score for one person, taken apart: without any rating, and each one's by level and by taste."""
        base, parts = self.rule.parts(self.arrays, self._rows(indptr, items, values))
        shown, factors = float(self.rule.shown(self.n_items)[item]), self.factors[item]
        return float(shown * base[0] + base[1:] @ factors), shown * parts[:, 0], parts[:, 1:] @ factors

    def marks(self, items: Sequence[int] | Indices) -> list[Mark | None]:
        """What to say about each of these items."""
        places = np.asarray(items, dtype=np.int64)
        both = zip(self.added[places], self.unknown[places], strict=True)
        return ["guess" if added else "unknown" if unknown else None for added, unknown in both]

    def similar(self, item: int, n: int, name: str) -> Neighbours:
        """What is most like an item.

        With noise ratios it is the correlation, over people, of the two items' scores: people's vectors have unit
        covariance, so two items have the covariance ``v_i . v_j``, and what an item's score varies by is expected to be
        ``|v_j|^2 + r_j F``, with r_j its noise ratio and F the mean square of true factors. The best of thousands of
        pairs look alike in any noise, so each item is held back by how much of it is known: not at all where all is,
        altogether where a quarter of what its factors could be is still open. Without them it is the cosine, made
        smaller for factors shorter than usual (root mean square): the direction of a short vector is mostly noise.
        """
        if self.rank == 0:
            raise SettingsInvalid(
                "this model has rank 0 (item offsets alone), so items have no direction to compare; "
                "train with a rank of at least 1 (--rank 4), which may need a larger budget"
            )
        lengths = np.linalg.norm(self.factors, axis=1)
        others: Bools = lengths > 0.0
        if not others[item]:
            raise HistoryInvalid(f"the model learned no direction for {name}: its factors are zero")
        others[item] = False
        if self.noise_ratio is None:
            usual = float(np.sqrt(np.square(lengths).mean()))
            wanted, believed = self.factors[[item]] / lengths[item], np.ones(len(lengths))
            directions = self.factors / np.maximum(lengths, usual)[:, np.newaxis]
        else:
            noise = self.noise_ratio
            # Estimates have the share 1 - r of what the truth varies by.
            true = float(np.square(lengths).sum() / max(float((1.0 - noise).sum()), 1e-9))
            spread = np.sqrt(np.square(lengths) + noise * true)
            directions = self.factors / np.where(spread > 0.0, spread, 1.0)[:, np.newaxis]
            wanted, believed = directions[[item]], _believed(1.0 - noise)
            directions = np.sqrt(believed)[:, np.newaxis] * directions
        nothing = np.zeros(self.n_items)
        index, scores = kernels.top_n(wanted, directions, nothing, min(n, self.n_items), allowed=others)
        (mark,) = self.marks([item])
        notes = () if mark is None else (_ABOUT[mark].format(name),)
        notes = (*notes, _NOTHING_ALIKE) if believed[item] == 0.0 else notes
        found = index[0] >= 0
        likeness = np.sqrt(believed[item]) * scores[0][found]
        return Neighbours(index[0][found], likeness, np.full(len(likeness), np.nan), notes)

    def with_items(self, features: csr_array) -> ItemSide:
        """With more items at the end, which are expected to be what their features say; nobody has taken them."""
        assert self.feature_map is not None
        assert self.noise_ratio is not None
        guessed, none = self.feature_map.guess(features), np.zeros(features.shape[0])
        return replace(
            self,
            offsets=np.concatenate([self.offsets, guessed[:, 0]]),
            factors=np.concatenate([self.factors, guessed[:, 1:]]),
            popularity=None if self.popularity is None else np.concatenate([self.popularity, none]),
            noise_ratio=np.concatenate([self.noise_ratio, none + self.feature_map.noise_ratio]),
            guessed=np.concatenate([self.added, np.ones(len(none), np.bool_)]),
        )

    def check(self) -> None:
        """Refuse arrays that do not fit each other, or numbers that are not finite (`ModelInvalid`)."""
        if self.offsets.ndim != 1 or self.factors.ndim != 2:
            raise ModelInvalid(f"offsets {self.offsets.shape} and factors {self.factors.shape} are no rows")
        m = self.n_items
        check_shapes(self, offsets=(m,), factors=(m, self.rank), popularity=(m,))
        check_shapes(self, noise_ratio=(m,), guessed=(m,))
        if not math.isfinite(self.centre):
            raise ModelInvalid(f"the centre is {self.centre} and not a finite number")
        wrong = self.rule.wrong(self.n_items, self.rank)
        if wrong is not None:
            raise ModelInvalid(wrong)
        if self.noise_ratio is None and self.guessed is not None:
            raise ModelInvalid("guessed items need a noise ratio")
        if self.noise_ratio is not None and not ((self.noise_ratio >= 0.0) & (self.noise_ratio <= 1.0)).all():
            raise ModelInvalid("the noise_ratio must lie between 0 and 1")
        if self.feature_map is not None:
            self.feature_map.check(self.rank)
            if self.noise_ratio is None:
                raise ModelInvalid(
                    "a feature map needs a noise_ratio: its guesses would pass for what was learnt"
                )
            if self.rule.wrong(self.n_items + 1, self.rank) is not None:
                raise ModelInvalid(
                    f"a feature map needs a rule that takes new items; {type(self.rule).__name__} has a number of its "
                    "own for each item"
                )

    def listed(self, by_popularity: bool) -> ItemSide:
        """The same with lists by popularity and prediction together, where that is wanted and can be, or not."""
        wanted = by_popularity and self.goal == "rate" and self.popularity is not None
        if wanted == self.by_popularity:
            return self
        side = replace(self)
        object.__setattr__(side, "by_popularity", wanted)
        return side

    @cached_property
    def design(self) -> Floats:
        """Items x (1 + rank): the feature row each item shows to a user's coefficients."""
        return np.column_stack([self.rule.shown(self.n_items), self.factors])

    @cached_property
    def _panels(self) -> Panels:
        return panels(self.order_terms[0])

    def _rows(self, indptr: Indices, items: Indices, values: Floats) -> Rows:
        return Rows(indptr, items, self.scale.opinions(values) if self.goal == "rank" else values)


_NOTHING_ALIKE = (
    "too little of this item is known beyond the noise: the model does not know which items are like it"
)
_ABOUT: dict[Mark, str] = {
    "unknown": "next to nothing is known about {}: do not rely on what is said to be like it",
    "guess": "{} was added after training: what is like it is guessed from its features",
}


def _believed(known: Floats) -> Floats:
    """From 1 where all of an item is known to 0 where at most three quarters of it are."""
    ratio = 3.0 * (1.0 - known) / np.maximum(known, np.finfo(np.float64).tiny)
    believed: Floats = np.sqrt(np.maximum(1.0 - np.minimum(ratio, 1.0) ** 2, 0.0))
    return believed


def _in_rows(owner: Any, *names: str) -> None:
    """Rows beside each other in memory: arithmetic, and so the last bit, is the same before and after a file."""
    for name in names:
        if (array := getattr(owner, name)) is not None:
            object.__setattr__(owner, name, np.asarray(array, order="C"))
