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

from discreet.catalogue import Catalogue, Goal, as_ids
from discreet.errors import CatalogueInvalid, HistoryInvalid, ModelInvalid, SettingsInvalid
from discreet.model import storage
from discreet.model.explanation import Explanation, explain
from discreet.model.history import (
    Histories,
    History,
    ReadHistory,
    UnknownItems,
    check_histories,
    fold_in_blocks,
    locate,
    name_some,
    read_history,
    top_items,
)
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import AnySide, ItemWeights
from discreet.model.recommendations import Recommendation, Recommendations
from discreet.privacy.statement import Statement
from discreet.types import Bools, Floats

__all__ = ["Model"]

# Devices are asked for popularity before anything else, and their lists are what it was paid for.
_BY_POPULARITY = frozenset({"devices"})


@dataclass(frozen=True)
class Model:
    """All that leaves training.

    Parameters
    ----------
    item_side
        What was learnt of the items: factors and the rule by which a history becomes a user vector, or a table of
        weights (`ItemWeights`).
    catalogue
        The items, in the order of the rows of ``item_side``.
    statement
        What the release promises. Its goal is filled in where it has none.
    method, settings
        What trained it, with its public settings as plain JSON values.

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
        side, encoder = self.item_side, self.catalogue.feature_encoder
        side.check()
        if isinstance(side, ItemSide):
            object.__setattr__(self, "item_side", side.listed(self.method in _BY_POPULARITY))
        if encoder is not None and side.feature_columns not in (None, made := len(encoder.group_of)):
            raise ModelInvalid(
                f"the model is for {side.feature_columns} columns of features, and the catalogue's encoder makes {made}"
            )
        if self.statement.private and not self.statement.releases and not side.untrained:
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
        if len(self.catalogue) != side.n_items:
            raise ModelInvalid(
                f"the catalogue has {len(self.catalogue)} items and the arrays have {side.n_items}"
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
        allowed, blocked
            Ids to choose from, and ids never to choose.
        unknown_items
            ``"error"`` refuses ids outside the catalogue; ``"drop"`` leaves them out and counts them in
            ``ignored``.
        """
        _check_n(n)
        coefficients, read = self._coefficients(history, unknown_items, disliked)
        mask, strangers = self._mask(allowed, blocked, unknown_items)
        seen = (read.indptr, read.items) if exclude_seen else None
        index, scores = self.item_side.top(coefficients, n, seen, mask)
        return self._named(index[0], scores[0], n, read.ignored + strangers)

    def recommend_batch(
        self,
        histories: Histories,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        allowed: Iterable[Any] | None = None,
        blocked: Iterable[Any] | None = None,
        unknown_items: UnknownItems = "error",
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
        for part in fold_in_blocks(self.item_side, histories):
            seen = (part.indptr, part.items) if exclude_seen else None
            best, score = self.item_side.top(part.coefficients, n, seen, mask)
            index[part.users, : best.shape[1]] = best
            scores[part.users, : best.shape[1]] = score
        users, positions = np.repeat(np.arange(len(index)), n), pl.Series(index.ravel())
        columns = {
            "user": as_ids(histories.user_ids).gather(users),
            "rank": np.tile(np.arange(1, n + 1, dtype=np.uint32), len(index)),
            "item": as_ids(self.catalogue.ids).gather(positions.clip(0)),
            "score": scores.ravel(),
        }
        there = pl.when(pl.Series(positions >= 0))
        return pl.DataFrame(columns).with_columns(there.then(pl.col("item", "score")).otherwise(None))

    def top_items(self, histories: Histories, n: int) -> npt.NDArray[np.int32]:
        """The ``n`` best items outside each user's history, by position; -1 where no more are left.

        One row a user: who asks for many users asks a block of them at a time.
        """
        self.check_histories(histories)
        return top_items(self.item_side, histories, n)

    def score_pairs(
        self, histories: Histories, indptr: npt.NDArray[np.int64], items: npt.NDArray[Any]
    ) -> tuple[Floats, Floats]:
        """What orders lists, and what `predict` says, of some items (compressed rows) of each user of ``histories``."""
        self.check_histories(histories)
        order, predicted = np.empty(len(items)), np.empty(len(items))
        for part in fold_in_blocks(self.item_side, histories):
            bounds = indptr[part.users.start : part.users.stop + 1]
            here = slice(int(bounds[0]), int(bounds[-1]))
            users = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
            order[here], predicted[here] = self.item_side.score_pairs(part.coefficients, users, items[here])
        return order, predicted

    def check_histories(self, histories: Histories) -> None:
        """Refuse histories over another catalogue, or with values that the model cannot take (`HistoryInvalid`)."""
        check_histories(histories, self.catalogue, self.item_side)

    def similar(self, item: Any, n: int = 10) -> Recommendations:
        """The ``n`` items that are most like an item, without the item itself.

        Of a table of weights: those that stand out of the noise as taken together, each with the standard deviation
        that the noise gives it (`ItemWeights.similar`). Of factors: `ItemSide.similar`.
        """
        _check_n(n)
        position = int(locate([item], self.catalogue, "the request", "error", droppable=False)[0][0])
        found = self.item_side.similar(position, n, name_some([item]))
        listed = self._named(found.items, found.likeness, n)
        entries = tuple(
            entry._replace(deviation=None if math.isnan(deviation) else deviation)
            for entry, deviation in zip(listed, found.deviation.tolist(), strict=True)
        )
        return replace(listed, entries=entries, notes=found.notes)

    def explain(
        self,
        history: History,
        item: Any,
        *,
        disliked: Iterable[Any] = (),
        unknown_items: UnknownItems = "error",
    ) -> Explanation:
        """Why ``item`` has its score for the owner of ``history``: a sum (:mod:`discreet.model.explanation`)."""
        (position,) = locate([item], self.catalogue, "the request", "error", droppable=False)[0]
        read = self.read_history(history, unknown_items, disliked)
        return explain(self.item_side, self.catalogue, read, int(position))

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
            The old items, which stay as they are, followed by the new ones, marked as guesses.

        Notes
        -----
        **Privacy.** Post-processing of what was released and of public features: nothing is charged, and the statement
        gets a note.
        """
        encoder = self.catalogue.feature_encoder
        if encoder is None or self.item_side.feature_columns is None:
            raise ModelInvalid(
                "this model was trained without item features, so it can say nothing about items that it has not seen; "
                "train it with --features (in Python, with a catalogue that has features)"
            )
        catalogue, features = self.catalogue.extended(ids, titles), encoder.encode(columns)
        count = len(catalogue) - len(self.catalogue)
        if features.shape[0] != count:
            raise CatalogueInvalid(f"there are features of {features.shape[0]} new items, and ids of {count}")
        side = self.item_side.with_items(features) if count else self.item_side
        note = (
            f"{count} {'item was' if count == 1 else 'items were'} added after training, without any ratings: what is "
            "said about new items follows from public features and from what was released, which costs nothing"
        )
        return replace(self, item_side=side, catalogue=catalogue, statement=self.statement.with_note(note))

    def read_history(
        self, history: History, unknown_items: UnknownItems = "error", disliked: Iterable[Any] = ()
    ) -> ReadHistory:
        """Check a person's own history and what is not for them, as `recommend` takes both."""
        side, ids = self.item_side, _as_list(disliked, "disliked")
        clicks = not side.scale.explicit
        disliking = ids or (clicks and isinstance(history, Mapping) and -1.0 in history.values())
        if disliking and not side.takes_dislikes:
            raise HistoryInvalid(
                f"a model of {self.method} was trained on what people took and cannot tell what somebody does not "
                "like; leave disliked items out, or train with --method ease"
            )
        return read_history(history, self.catalogue, side.scale, unknown_items, ids)

    @property
    def factors(self) -> ItemSide:
        """The item side of a model of factors; of a table `SettingsInvalid`."""
        if not isinstance(self.item_side, ItemSide):
            raise SettingsInvalid(
                f"a model of {self.method} is a table of weights and has no factors; discreet export table writes it"
            )
        return self.item_side

    @property
    def weights(self) -> ItemWeights:
        """The table of a model of weights; of factors `SettingsInvalid`."""
        if not isinstance(self.item_side, ItemWeights):
            raise SettingsInvalid(f"a model of {self.method} has factors and no table of weights")
        return self.item_side

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about every list of this model, in whole sentences."""
        return self.item_side.notes

    def known(self, items: Iterable[Any]) -> Bools:
        """Of which of these items training learnt something: not of unknown ones, and not of those added afterwards."""
        wanted, _ = locate(list(items), self.catalogue, "the list of items", "error", droppable=False)
        return self.item_side.known[wanted]

    def save(self, directory: str | Path, *, overwrite: bool = False) -> Path:
        """Write the model to ``directory``, whole or not at all; see :mod:`discreet.model.storage`."""
        return storage.save(self._parts(), directory, overwrite=overwrite)

    @property
    def digest(self) -> str:
        """What later statements name it by; see `discreet.model.storage.digest`."""
        return storage.digest(self._parts())

    @classmethod
    def load(cls, directory: str | Path) -> Model:
        """Read a saved model; anything altered, missing or added is refused with `ModelInvalid`."""
        return cls(*storage.read(directory)[0])

    def _mask(
        self, allowed: Iterable[Any] | None, blocked: Iterable[Any] | None, unknown_items: UnknownItems
    ) -> tuple[Bools | None, int]:
        """Which items may be listed, ``None`` for all, and how many ids were unknown."""
        if allowed is None and blocked is None:
            return None, 0
        mask, strangers = np.full(self.item_side.n_items, allowed is None), 0
        for name, ids, value in (("allowed", allowed, True), ("blocked", blocked, False)):
            where = f"the list of {name} items"
            index, missing = locate(_as_list(ids, name), self.catalogue, where, unknown_items)
            mask[index[index >= 0]] = value
            strangers += missing
        return mask, strangers

    def _named(
        self, index: npt.NDArray[np.int32], scores: Floats, requested: int, ignored: int = 0
    ) -> Recommendations:
        """Positions and scores, the best first, with ids, titles and marks; a position of -1 ends them."""
        found = index[index >= 0]
        ids, marks = self.catalogue.ids[found].tolist(), self.item_side.marks(found)
        entries = tuple(
            Recommendation(one, score, self._titles.get(one), mark)
            for one, score, mark in zip(ids, scores[: len(found)].tolist(), marks, strict=True)
        )
        return Recommendations(entries, requested, ignored, self.notes)

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


def _check_n(n: int) -> None:
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise SettingsInvalid(f"n must be a whole number of at least 1, not {n!r}")


def _as_list(ids: Iterable[Any] | None, name: str) -> Sequence[Any]:
    if isinstance(ids, str | bytes):
        raise HistoryInvalid(f"{name} is a list of item ids, not one text ({ids!r})")
    return [] if ids is None else list(ids)
