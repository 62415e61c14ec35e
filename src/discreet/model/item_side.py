"""The item side: everything a user needs from the released model, and how one user's vector follows from it.

These arrays are public. ``fold_in`` runs on one user's own ratings and the public arrays only, so it costs no
privacy budget, in training and afterwards; the same function serves both, which is why a user who was never in
the training data is treated exactly like one who was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet import kernels
from discreet.catalogue.scale import Goal, RatingScale
from discreet.errors import ModelInvalid
from discreet.model.doubt import Doubt
from discreet.model.feature_map import FeatureMap
from discreet.model.fold_in import Clicks, FoldIn, Ridge
from discreet.model.fold_in.histories import Rows
from discreet.types import Bools, Floats, Indices

__all__ = ["ItemSide"]


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
    doubt
        How sure the model is of each item, where the method says so.
    feature_map
        What it expects of an item from its features alone, where it was trained with features.
    """

    scale: RatingScale
    centre: float
    offsets: Floats
    factors: Floats
    rule: FoldIn
    popularity: Floats | None = None
    doubt: Doubt | None = None
    feature_map: FeatureMap | None = None

    def __post_init__(self) -> None:
        """Rows beside each other in memory: arithmetic, and so the last bit, is the same before and after a file."""
        for name in ("offsets", "factors", "popularity"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, np.asarray(array, order="C"))

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
    def ridge(self) -> Ridge:
        """The rule of a model that folds people in by ridge regression; an error for any other."""
        assert isinstance(self.rule, Ridge)
        return self.rule

    @property
    def clicks(self) -> Clicks:
        """The rule of a model that ranks by what people take; an error for any other."""
        assert isinstance(self.rule, Clicks)
        return self.rule

    def fold_in(
        self, indptr: Indices, items: Indices, values: Floats, *, kind: type[np.floating] = np.float64
    ) -> Floats:
        """Each user's own coefficients, users x (1 + rank), from that user's ratings alone.

        ``kind`` is the arithmetic of the solves: float32 takes half the time, which training uses, where the
        outcome goes onto a 14-bit grid anyway.
        """
        if self.goal == "rank":
            values = self.scale.opinions(values)
        return self.rule.coefficients(self, Rows(indptr, items, values), kind)

    def predict(self, coefficients: Floats, users: Indices, items: Indices) -> Floats:
        """Predicted rating or score for pairs of user row and item index."""
        raw = kernels.dot_pairs(users, items, coefficients, self.design())
        raw += self.centre + self.offsets[items]
        return self.clipped(raw)

    def clipped(self, predictions: Floats) -> Floats:
        """Predicted ratings brought into the range; scores stay as they are."""
        return self.scale.clipped(predictions) if self.goal == "rate" else predictions

    def design(self) -> Floats:
        """Items x (1 + rank): the feature row each item shows to a user's coefficients."""
        return np.column_stack([self.rule.shown(self.n_items), self.factors])

    @property
    def trained(self) -> slice | Bools:
        """Index of the items that were there in training; the others were added, and nobody could take them."""
        return slice(None) if self.doubt is None or self.doubt.guessed is None else ~self.doubt.guessed

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """``V^T V`` and ``V^T b`` over the items of training: one that was added says nothing by not being taken."""
        factors = self.factors[self.trained]
        return factors.T @ factors, factors.T @ self.offsets[self.trained]

    @property
    def known(self) -> Bools:
        """Of which items training learnt something; all of them where the model does not say how sure it is."""
        if self.doubt is None:
            return np.ones(self.n_items, dtype=np.bool_)
        return ~(self.doubt.unknown | self.doubt.added)

    @property
    def same_for_all(self) -> bool:
        """Whether everybody's items are in the same order: no factors, and no item leans on the user's own mean."""
        return self.rank == 0 and len(set(self.rule.shown(self.n_items).tolist())) == 1

    def check(self) -> None:
        """Refuse arrays that do not fit each other, or numbers that are not finite.

        Raises
        ------
        ModelInvalid
            Naming what is wrong.
        """
        if self.offsets.ndim != 1 or self.factors.ndim != 2 or len(self.factors) != len(self.offsets):
            raise ModelInvalid(
                f"offsets {self.offsets.shape} and factors {self.factors.shape} do not fit each other"
            )
        if self.popularity is not None and self.popularity.shape != self.offsets.shape:
            raise ModelInvalid(f"popularity has the shape {self.popularity.shape}, not {self.offsets.shape}")
        for name in ("offsets", "factors", "popularity"):
            array = getattr(self, name)
            if array is not None and not np.isfinite(array).all():
                raise ModelInvalid(f"{name} has numbers that are not finite")
        if not math.isfinite(self.centre):
            raise ModelInvalid(f"the centre is {self.centre} and not a finite number")
        wrong = self.rule.wrong(self.n_items, self.rank)
        if wrong is not None:
            raise ModelInvalid(wrong)
        if self.doubt is not None:
            self.doubt.check(self.n_items)
        if self.feature_map is not None:
            self._check_feature_map(self.feature_map)

    def _check_feature_map(self, feature_map: FeatureMap) -> None:
        feature_map.check(self.rank)
        if self.doubt is None:
            raise ModelInvalid("a feature map needs doubt: its guesses would pass for what was learnt")
        if self.rule.wrong(self.n_items + 1, self.rank) is not None:
            raise ModelInvalid(
                f"a feature map needs a rule that takes new items; {type(self.rule).__name__} has a number of its own "
                "for each item"
            )
