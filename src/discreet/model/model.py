"""The released model: recommend, predict, find similar items, from public arrays and one history."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet import kernels
from discreet.catalogue import Catalogue, Goal, RatingScale
from discreet.errors import HistoryInvalid, ModelInvalid, SettingsInvalid
from discreet.model import storage
from discreet.model.blocks import BLOCK, check_histories, fold_in_blocks, score_top
from discreet.model.doubt import Mark
from discreet.model.explanation import Explanation, explain, explain_weights
from discreet.model.history import (
    Histories,
    History,
    ReadHistory,
    UnknownItems,
    locate,
    name_some,
    read_history,
)
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import AnySide, ItemWeights
from discreet.model.listing import listed_by_popularity, order_of, order_terms
from discreet.model.new_items import add_items, check_features
from discreet.model.recommendations import (
    FEW_STAND_OUT,
    NO_TASTE,
    NOTHING_LEARNT,
    SAME_ORDER,
    Recommendation,
    Recommendations,
)
from discreet.model.similarity import compared
from discreet.privacy.statement import Statement
from discreet.types import Bools, Floats

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """Item side, catalogue and privacy statement: all that leaves training.

    Parameters
    ----------
    item_side
        What was learnt of the items: factors and the rule by which a history becomes a user vector, or a table of
        weights (`ItemWeights`).
    catalogue
        The items, in the order of the rows of ``item_side``.
    statement
        What the release promises. Its goal is filled in where it has none, as in older files.
    method
        Name of the method that trained it.
    settings
        Its public settings, as plain JSON values.

    Notes
    -----
    **Privacy.** Every method works on released arrays and on the history handed in, by or for the person it
    belongs to: nothing is charged, for people in the training data and for anyone else.
    """

    item_side: AnySide
    catalogue: Catalogue
    statement: Statement
    method: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.item_side.check()
        check_features(self.item_side, self.catalogue)
        if self.statement.private and not self.statement.releases and not _says_nothing(self.item_side):
            raise ModelInvalid(
                "the statement says that nothing was released, but the model has learnt something"
            )
        if self.statement.goal is None:
            said = self.statement.model_copy(update={"goal": self.goal})
            object.__setattr__(self, "statement", said)
        elif self.statement.goal != self.goal:
            raise ModelInvalid(
                f"the statement says that the model was trained to {self.statement.goal}, but this one is there to "
                f"{self.goal}"
            )
        if len(self.catalogue) != self.item_side.n_items:
            raise ModelInvalid(
                f"the catalogue has {len(self.catalogue)} items and the arrays have {self.item_side.n_items}"
            )

    @property
    def goal(self) -> Goal:
        """``"rate"`` where predictions are ratings, ``"rank"`` where they are scores that order items."""
        return self.item_side.goal

    def predict(
        self,
        history: History,
        items: Iterable[Any],
        *,
        disliked: Iterable[Any] = (),
        unknown_items: UnknownItems = "error",
    ) -> Floats:
        """Predicted ratings, or scores of a model that ranks, of ``items`` for the owner of ``history``.

        ``unknown_items`` concerns the history; the items asked for must be in the catalogue.
        """
        wanted, _ = locate(list(items), self.catalogue, "the list of items to predict", "error")
        coefficients, _ = self._coefficients(history, unknown_items, disliked)
        return self.item_side.predict(coefficients, np.zeros(len(wanted), dtype=np.int64), wanted)

    def recommend(
        self,
        history: History,
        n: int = 10,
        *,
        disliked: Iterable[Any] = (),
        exclude_seen: bool = True,
        allowed: Iterable[Any] | None = None,
        blocked: Iterable[Any] | None = None,
        unknown_items: UnknownItems = "error",
    ) -> Recommendations:
        """The ``n`` best items for the owner of ``history``.

        Parameters
        ----------
        history
            Mapping of item id to rating (explicit feedback) or item ids (implicit feedback); may be empty.
        disliked
            Ids of items that are not for this person, without a rating: as the lowest one.
        exclude_seen
            Leave out the items of the history.
        allowed, blocked
            Ids to choose from, and ids never to choose.
        unknown_items
            ``"error"`` refuses ids outside the catalogue; ``"drop"`` leaves them out and counts them in
            ``ignored``.

        Returns
        -------
        Recommendations
            Exactly ``n`` items, or fewer with the rest in ``shortfall``.
        """
        _check_n(n)
        coefficients, read = self._coefficients(history, unknown_items, disliked)
        mask, strangers = self._mask(allowed, blocked, unknown_items)
        seen = (read.indptr, read.items) if exclude_seen else None
        index, scores = score_top(
            self.item_side, coefficients, n, seen, mask, by_popularity=self.by_popularity
        )
        return self._name(index[0], scores[0], n, read.ignored + strangers, self.notes)

    def recommend_batch(
        self,
        histories: Histories,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        allowed: Iterable[Any] | None = None,
        blocked: Iterable[Any] | None = None,
        unknown_items: UnknownItems = "error",
        block: int = BLOCK,
    ) -> pl.DataFrame:
        """The ``n`` best items for each of many users, as a frame (``user``, ``rank``, ``item``, ``score``).

        Every user has exactly ``n`` rows, ranks 1 to ``n``; where too few items were left, ``item`` and
        ``score`` are null. ``histories`` is anything shaped like ``discreet.Ratings`` over this
        catalogue; ``unknown_items`` concerns the filters.
        """
        _check_n(n)
        self.check_histories(histories)
        mask, _ = self._mask(allowed, blocked, unknown_items)
        index = np.full((len(histories.indptr) - 1, n), -1, dtype=np.int32)
        scores = np.full(index.shape, np.nan)
        for part in fold_in_blocks(self.item_side, histories, block):
            seen = (part.indptr, part.items) if exclude_seen else None
            best, score = score_top(
                self.item_side, part.coefficients, n, seen, mask, by_popularity=self.by_popularity
            )
            index[part.users, : best.shape[1]] = best
            scores[part.users, : best.shape[1]] = score
        return self._frame(histories.user_ids, index, scores)

    def top_items(self, histories: Histories, n: int) -> npt.NDArray[np.int32]:
        """The ``n`` best items outside each user's history, by position; -1 where no more are left.

        One row a user: who asks for many users asks a block of them at a time.
        """
        self.check_histories(histories)
        ranking = np.full((len(histories.indptr) - 1, min(n, len(self.catalogue))), -1, dtype=np.int32)
        for part in fold_in_blocks(self.item_side, histories):
            seen = (part.indptr, part.items)
            ranking[part.users], _ = score_top(
                self.item_side, part.coefficients, n, seen, by_popularity=self.by_popularity
            )
        return ranking

    def score_pairs(
        self, histories: Histories, indptr: npt.NDArray[np.int64], items: npt.NDArray[Any]
    ) -> tuple[Floats, Floats]:
        """What orders lists, and what `predict` says, of some items (compressed rows) of each user of ``histories``."""
        self.check_histories(histories)
        side = self.item_side
        order, predicted = np.empty(len(items)), np.empty(len(items))
        if isinstance(side, ItemSide):
            design, level = order_terms(side, self.by_popularity)
            order = level[items]
        for part in fold_in_blocks(side, histories):
            bounds = indptr[part.users.start : part.users.stop + 1]
            here = slice(int(bounds[0]), int(bounds[-1]))
            users = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
            if isinstance(side, ItemWeights):
                order[here] = side.predict(part.coefficients, users, items[here])
                continue
            order[here] += kernels.dot_pairs(users, items[here], part.coefficients, design)
            if self.by_popularity:
                predicted[here] = side.predict(part.coefficients, users, items[here])
        return order, predicted if self.by_popularity else side.clipped(order)

    def check_histories(self, histories: Histories) -> None:
        """Refuse histories over another catalogue, or with values that the model cannot take (`HistoryInvalid`)."""
        check_histories(histories, self.catalogue, self.item_side)

    def similar(self, item: Any, n: int = 10) -> Recommendations:
        """The ``n`` items that are most like an item, without the item itself.

        Of a table of weights they are the items that stand out of the noise as taken together, scored by how often that
        is over the root of how often each is taken, with the standard deviation that the noise gives it.

        Of factors the score is the expected correlation, over people, of the two items' scores, which is smaller the
        less is known about them; of a model that does not say how sure it is, it is the cosine of the factors, made
        smaller for short ones (:func:`discreet.model.similarity.compared`).
        """
        _check_n(n)
        if isinstance(self.item_side, ItemWeights):
            return self._neighbours(self.item_side, item, n)
        if self.item_side.rank == 0:
            raise SettingsInvalid(
                "this model has rank 0 (item offsets alone), so items have no direction to compare; "
                "train with a rank of at least 1 (--rank 4), which may need a larger budget"
            )
        position = int(locate([item], self.catalogue, "the request", "error", droppable=False)[0][0])
        others: Bools = np.any(self.item_side.factors, axis=1)
        if not others[position]:
            raise HistoryInvalid(
                f"the model learned no direction for {name_some([item])}: its factors are zero"
            )
        others[position] = False
        wanted, directions, believed = compared(self.item_side, position)
        index, scores = kernels.top_n(
            wanted, directions, np.zeros(len(others)), min(n, len(others)), allowed=others
        )
        (mark,) = self._marks([position])
        notes = () if mark is None else (_ABOUT[mark].format(name_some([item])),)
        notes = (*notes, _NOTHING_ALIKE) if believed == 0.0 else notes
        return self._name(index[0], np.sqrt(believed) * scores[0], n, 0, notes)

    def explain(
        self,
        history: History,
        item: Any,
        *,
        disliked: Iterable[Any] = (),
        unknown_items: UnknownItems = "error",
    ) -> Explanation:
        """Why ``item`` has its score for the owner of ``history``: the score as a sum over their ratings.

        Costs nothing, as `recommend`; see :mod:`discreet.model.explanation` for the parts.
        """
        (position,) = locate([item], self.catalogue, "the request", "error", droppable=False)[0]
        read = self.read_history(history, unknown_items, disliked)
        side = self.item_side
        if isinstance(side, ItemWeights):
            found = explain_weights(side, self.catalogue, self._titles, read, int(position))
        else:
            found = explain(side, self.catalogue, self._titles, read, int(position))
        return replace(found, notes=self.notes)

    def with_items(self, ids: Iterable[Any], columns: Any, titles: Mapping[Any, str] | None = None) -> Model:
        """The same model with more items, which it expects to be what their features say.

        Parameters
        ----------
        ids
            Of the new items, none of them in the catalogue.
        columns
            Their features, in the order of the ids: the columns that the model was trained with, by name (a mapping
            or a frame; see `discreet.catalogue.FeatureEncoder.encode`). Values may be missing.
        titles
            Optional title of each new id.

        Returns
        -------
        Model
            The old items, whose vectors stay as they are, followed by the new ones, marked as guesses.

        Raises
        ------
        ModelInvalid
            When the model was trained without features.
        CatalogueInvalid
            For ids that are there already, and columns that are missing.

        Notes
        -----
        **Privacy.** Post-processing: the new vectors follow from what was released and from public features, so nothing
        is charged, and the statement gets a note.
        """
        side, catalogue = add_items(self.item_side, self.catalogue, ids, columns, titles)
        count = len(catalogue) - len(self.catalogue)
        note = (
            f"{count} {'item was' if count == 1 else 'items were'} added after training, without any ratings: what is "
            "said about new items follows from public features and from what was released, which costs nothing"
        )
        return replace(self, item_side=side, catalogue=catalogue, statement=self.statement.with_note(note))

    def read_history(
        self, history: History, unknown_items: UnknownItems = "error", disliked: Iterable[Any] = ()
    ) -> ReadHistory:
        """Check a person's own history and what is not for them, as `recommend` takes both."""
        scale = self.item_side.scale
        ids = _as_list(disliked, "disliked")
        if (ids or _has_dislikes(history, scale)) and not (
            scale.explicit or isinstance(self.item_side, ItemWeights)
        ):
            raise HistoryInvalid(
                f"a model of {self.method} was trained on what people took and cannot tell what somebody does not "
                "like; leave disliked items out, or train with --method ease"
            )
        return read_history(history, self.catalogue, scale, unknown_items, ids)

    @property
    def factors(self) -> ItemSide:
        """The item side of a model of factors.

        Raises
        ------
        SettingsInvalid
            Of a model that is a table of weights.
        """
        if not isinstance(self.item_side, ItemSide):
            raise SettingsInvalid(
                f"a model of {self.method} is a table of weights and has no factors; discreet export table writes it"
            )
        return self.item_side

    @property
    def weights(self) -> ItemWeights:
        """The table of a model of weights.

        Raises
        ------
        SettingsInvalid
            Of a model of factors.
        """
        if not isinstance(self.item_side, ItemWeights):
            raise SettingsInvalid(f"a model of {self.method} has factors and no table of weights")
        return self.item_side

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about every list of this model, in whole sentences."""
        if isinstance(self.item_side, ItemWeights):
            return _of_table(self.item_side)
        order = (order_of(self.item_side),) if self.by_popularity else ()
        return (*order, SAME_ORDER) if self.item_side.same_for_all and NOTHING_LEARNT not in order else order

    @property
    def by_popularity(self) -> bool:
        """Whether lists are ordered by popularity and prediction together, not by prediction alone."""
        return listed_by_popularity(self.item_side, self.method)

    def known(self, items: Iterable[Any]) -> Bools:
        """Of which of these items training learnt something.

        False for items of which next to nothing was learnt, and for items that were added afterwards
        (:meth:`with_items`). A model that does not say how sure it is (``item_side.doubt`` is ``None``) is taken to
        know all of its items.
        """
        wanted, _ = locate(list(items), self.catalogue, "the list of items", "error", droppable=False)
        return self.item_side.known[wanted]

    def save(self, directory: str | Path, *, overwrite: bool = False) -> Path:
        """Write the model to ``directory``, whole or not at all; see :mod:`discreet.model.storage`."""
        return storage.save(self._parts(), directory, overwrite=overwrite)

    @property
    def digest(self) -> str:
        """SHA-256 of the ``manifest.json`` that it is saved with: what later statements name it by."""
        return storage.digest(self._parts())

    @classmethod
    def load(cls, directory: str | Path) -> Model:
        """Read a saved model; anything altered, missing or added is refused with `ModelInvalid`."""
        parts = storage.load(directory)
        return cls(parts.item_side, parts.catalogue, parts.statement, parts.method, parts.settings)

    def __repr__(self) -> str:
        side = self.item_side
        size = f"rank {side.rank}" if isinstance(side, ItemSide) else f"{len(side.others)} weights"
        return f"Model({self.method}, {side.scale}, goal {self.goal}, {side.n_items} items, {size})"

    @cached_property
    def _titles(self) -> dict[int | str, str]:
        return self.catalogue.titles

    def _parts(self) -> storage.Parts:
        return storage.Parts(self.item_side, self.catalogue, self.statement, self.method, self.settings)

    def _coefficients(
        self, history: History, unknown_items: UnknownItems, disliked: Iterable[Any] = ()
    ) -> tuple[Any, ReadHistory]:
        read = self.read_history(history, unknown_items, disliked)
        return self.item_side.fold_in(read.indptr, read.items, read.values), read

    def _neighbours(self, side: ItemWeights, item: Any, n: int) -> Recommendations:
        position = int(locate([item], self.catalogue, "the request", "error", droppable=False)[0][0])
        found = side.neighbours(position)
        items, titles = self.catalogue.ids[found.items[:n]].tolist(), self._titles
        entries = tuple(
            Recommendation(one, like, titles.get(one), None, None if math.isnan(deviation) else deviation)
            for one, like, deviation in zip(
                items, found.likeness[:n].tolist(), found.deviation[:n].tolist(), strict=True
            )
        )
        few = () if len(entries) == n else (FEW_STAND_OUT,)
        guessed = side.likeness is not None and not side.counted[position]
        return Recommendations(entries, n, 0, (_GUESSED.format(name_some([item])),) if guessed else few)

    def _mask(
        self, allowed: Iterable[Any] | None, blocked: Iterable[Any] | None, unknown_items: UnknownItems
    ) -> tuple[Bools | None, int]:
        if allowed is None and blocked is None:
            return None, 0
        mask, strangers = np.full(self.item_side.n_items, allowed is None), 0
        for name, ids, value in (("allowed", allowed, True), ("blocked", blocked, False)):
            index, missing = locate(
                _as_list(ids, name), self.catalogue, f"the list of {name} items", unknown_items
            )
            mask[index[index >= 0]] = value
            strangers += missing
        return mask, strangers

    def _marks(self, positions: Sequence[int] | npt.NDArray[np.int32]) -> list[Mark | None]:
        if isinstance(self.item_side, ItemWeights):
            return self.item_side.marks(positions)
        doubt = self.item_side.doubt
        return [None] * len(positions) if doubt is None else doubt.marks(np.asarray(positions))

    def _name(
        self,
        index: npt.NDArray[np.int32],
        scores: Floats,
        requested: int,
        ignored: int,
        notes: tuple[str, ...],
    ) -> Recommendations:
        found = index >= 0
        ids = self.catalogue.ids[index[found]].tolist()
        entries = tuple(
            Recommendation(one, score, self._titles.get(one), mark)
            for one, score, mark in zip(ids, scores[found].tolist(), self._marks(index[found]), strict=True)
        )
        return Recommendations(entries, requested, ignored, notes)

    def _frame(
        self,
        user_ids: npt.NDArray[Any],
        index: npt.NDArray[np.int32],
        scores: Floats,
    ) -> pl.DataFrame:
        users, n = index.shape
        ids = _series("item", self.catalogue.ids)
        positions = pl.Series(index.ravel())
        ranks = np.tile(np.arange(1, n + 1, dtype=np.uint32), users)
        columns = {
            "user": _series("user", user_ids).gather(np.repeat(np.arange(users), n)),
            "rank": ranks,
            "item": ids.gather(positions.clip(0)),
            "score": pl.Series(scores.ravel()),
        }
        missing = positions < 0
        return pl.DataFrame(columns).with_columns(
            pl.when(missing).then(None).otherwise(pl.col(column)).alias(column)
            for column in list(columns)[2:]
        )


_GUESSED = "no pairs of {} were counted: what is like it is guessed from its features"
_TRUSTED = (
    "{} of {} items are clearly more popular than the average one, by over two deviations of the noise; the order of "
    "the others is partly noise"
)

_NOTHING_ALIKE = (
    "too little of this item is known beyond the noise: the model does not know which items are like it"
)

_ABOUT: dict[Mark, str] = {
    "unknown": "next to nothing is known about {}: do not rely on what is said to be like it",
    "guess": "{} was added after training: what is like it is guessed from its features",
}


def _of_table(side: ItemWeights) -> tuple[str, ...]:
    """What to know about the lists of a table, and of popularity alone how far it is to be trusted."""
    if not side.same_for_all:
        return ()
    if side.says_nothing:
        return (NOTHING_LEARNT,)
    if side.standing_out is None:
        return (NO_TASTE,)
    return NO_TASTE, _TRUSTED.format(side.standing_out, side.n_items)


def _says_nothing(side: AnySide) -> bool:
    """Whether the arrays could be there without any ratings."""
    if isinstance(side, ItemWeights):
        return not (side.counts.any() or side.mass.any() or len(side.others) or side.sums)
    extras = (side.popularity, side.doubt, side.feature_map)
    return side.rank == 0 and not side.offsets.any() and all(extra is None for extra in extras)


def _check_n(n: int) -> None:
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise SettingsInvalid(f"n must be a whole number of at least 1, not {n!r}")


def _has_dislikes(history: History, scale: RatingScale) -> bool:
    """Whether a history of clicks names items that are not for its owner."""
    return not scale.explicit and isinstance(history, Mapping) and -1.0 in history.values()


def _as_list(ids: Iterable[Any] | None, name: str) -> Sequence[Any]:
    if isinstance(ids, str | bytes):
        raise HistoryInvalid(f"{name} is a list of item ids, not one text ({ids!r})")
    return [] if ids is None else list(ids)


def _series(name: str, ids: npt.NDArray[Any]) -> pl.Series:
    return pl.Series(name, ids if ids.dtype.kind == "i" else ids.tolist())
