"""A person's own history: checked against the catalogue and the rating range before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from discreet.catalogue import Catalogue, RatingScale
from discreet.errors import HistoryInvalid
from discreet.model.item_weights import AnySide

__all__ = [
    "BLOCK",
    "Block",
    "Histories",
    "History",
    "ReadHistory",
    "UnknownItems",
    "check_histories",
    "fold_in_blocks",
    "locate",
    "name_some",
    "read_history",
    "top_items",
]

BLOCK = 8192
"""Users at once: memory stays at block x (rank + n), never users x items."""

History = Mapping[Any, float] | Iterable[Any]
UnknownItems = Literal["error", "drop"]

_NAMED = 5


class Histories(Protocol):
    """Many users' histories at once, as compressed rows; ``discreet.Ratings`` is one.

    Items are positions in ``catalogue``, which has to be the model's own; values of implicit feedback are all 1.
    """

    @property
    def indptr(self) -> npt.NDArray[np.int64]: ...

    @property
    def items(self) -> npt.NDArray[np.int32]: ...

    @property
    def values(self) -> npt.NDArray[np.float64]: ...

    @property
    def user_ids(self) -> npt.NDArray[Any]: ...

    @property
    def catalogue(self) -> Catalogue | None: ...


class Block(NamedTuple):
    """Consecutive users, their entries as compressed rows of their own, and their coefficients."""

    users: slice
    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[Any]
    coefficients: Any


def fold_in_blocks(side: AnySide, histories: Histories) -> Iterator[Block]:
    """Each block of users with the coefficients that follow from their own histories."""
    n_users = len(histories.indptr) - 1
    for start in range(0, n_users, BLOCK):
        users = slice(start, min(start + BLOCK, n_users))
        bounds = histories.indptr[users.start : users.stop + 1]
        entries = slice(int(bounds[0]), int(bounds[-1]))
        indptr, items = bounds - bounds[0], histories.items[entries]
        yield Block(users, indptr, items, side.fold_in(indptr, items, histories.values[entries]))


def top_items(side: AnySide, histories: Histories, n: int) -> npt.NDArray[np.int32]:
    """The ``n`` best items outside each user's history, by position; -1 where no more are left."""
    ranking = np.full((len(histories.indptr) - 1, min(n, side.n_items)), -1, dtype=np.int32)
    for part in fold_in_blocks(side, histories):
        ranking[part.users], _ = side.top(part.coefficients, n, (part.indptr, part.items))
    return ranking


def check_histories(histories: Histories, catalogue: Catalogue, side: AnySide) -> None:
    """Refuse histories over another catalogue, or with values that the model cannot take (`HistoryInvalid`)."""
    if histories.catalogue is None or histories.catalogue != catalogue:
        raise HistoryInvalid(
            "the histories are not numbered by the model's catalogue; read them with "
            "catalogue=model.catalogue, or convert them with ratings.with_catalogue(model.catalogue)"
        )
    values, explicit = np.asarray(histories.values), side.scale.explicit
    low, high = side.scale.bounds
    signed = side.takes_dislikes and not explicit
    wrong = np.flatnonzero(~(((values >= low) & (values <= high)) | (signed & (values == -1.0))))
    if len(wrong):
        row = int(np.searchsorted(histories.indptr, wrong[0], side="right")) - 1
        clicks = "1, or -1 for what is not for somebody" if signed else "1 (implicit feedback)"
        wanted = f"in {low:g} to {high:g}" if explicit else clicks
        raise HistoryInvalid(
            f"user {histories.user_ids[row]!r} has the value {values[wrong[0]]:g}, which must be {wanted}; "
            "read the histories with the rating range the model was trained with"
        )


@dataclass(frozen=True)
class ReadHistory:
    """A checked history of one user: catalogue positions in ascending order, ratings, ids left out."""

    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]
    ignored: int

    @property
    def indptr(self) -> npt.NDArray[np.int64]:
        """The one row as compressed rows."""
        return np.array([0, len(self.items)], dtype=np.int64)


def read_history(
    history: History,
    catalogue: Catalogue,
    scale: RatingScale,
    unknown_items: UnknownItems,
    disliked: Sequence[Any] = (),
) -> ReadHistory:
    """Check one user's history and turn it into positions and values.

    Parameters
    ----------
    history
        Explicit feedback: a mapping of item id to rating, or pairs of both. Implicit feedback: item ids, or a mapping
        of item id to 1, and to -1 for what is not for this person.
    disliked
        More item ids, which count as the lowest rating, or as -1.
    """
    ids, values = _split(history, scale)
    lowest = scale.bounds[0] if scale.explicit else -1.0
    ids, values = [*ids, *disliked], [*values, *[lowest] * len(disliked)]
    numbers = _read_values(ids, values, scale)
    index, ignored = locate(ids, catalogue, "the history", unknown_items)
    known, seen = index >= 0, set[int]()
    for one, place in zip(ids, index.tolist(), strict=True):
        if place in seen:  # however it is written: 7 and "7"
            raise HistoryInvalid(
                f"the history names {name_some([one])} more than once; keep one entry for each item"
            )
        seen |= {place} if place >= 0 else set()
    order = np.argsort(index[known], kind="stable")
    return ReadHistory(index[known][order].astype(np.int32), numbers[known][order], ignored)


def locate(
    ids: Sequence[Any],
    catalogue: Catalogue,
    where: str,
    unknown_items: UnknownItems,
    *,
    droppable: bool = True,
) -> tuple[npt.NDArray[np.int64], int]:
    """Catalogue positions (-1 for unknown ids) and how many ids are unknown, which ``"error"`` refuses.

    What a request consists of cannot be dropped: the refusal then does not offer it.
    """
    if unknown_items not in ("error", "drop"):
        raise HistoryInvalid(f'unknown_items must be "error" or "drop", not {unknown_items!r}')
    index = catalogue.index(ids)
    strangers = [ids[i] for i in np.flatnonzero(index < 0).tolist()]
    if strangers and unknown_items == "error":
        raise HistoryInvalid(
            f"{where} names {len(strangers)} of {len(ids)} items that the model's catalogue does not have: "
            f"{name_some(strangers)}. The catalogue has {len(catalogue)} ids such as "
            f"{name_some(list(catalogue.ids[:2]))}. Correct the ids"
            + (
                ', or leave unknown ones out (unknown_items="drop", on the command line --unknown-items drop).'
                if droppable
                else "."
            )
        )
    return index, len(strangers)


def name_some(ids: Sequence[Any]) -> str:
    """The first few ids in their own notation, for a message."""
    shown = ", ".join(repr(i.item() if isinstance(i, np.generic) else i) for i in ids[:_NAMED])
    return shown + (f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else "")


def _split(history: History, scale: RatingScale) -> tuple[list[Any], list[Any]]:
    if isinstance(history, str | bytes) or not isinstance(history, Iterable):
        raise HistoryInvalid(f"a history is {_wanted(scale)}, not {type(history).__name__} {history!r}")
    if isinstance(history, Mapping):
        return list(history.keys()), list(history.values())
    entries = list(history)
    if not scale.explicit:
        return entries, [1.0] * len(entries)
    if not all(isinstance(entry, tuple | list) and len(entry) == 2 for entry in entries):
        raise HistoryInvalid(
            f"this model was trained on ratings, so a history is {_wanted(scale)}; "
            "a bare list of item ids has no ratings"
        )
    return [entry[0] for entry in entries], [entry[1] for entry in entries]


def _wanted(scale: RatingScale) -> str:
    if not scale.explicit:
        return "a list of item ids"
    return "a mapping of item id to rating, such as {item: rating}"


def _read_values(ids: Sequence[Any], values: Sequence[Any], scale: RatingScale) -> npt.NDArray[np.float64]:
    numbers = np.empty(len(values))
    low, high = scale.bounds
    for position, (one, value) in enumerate(zip(ids, values, strict=True)):
        named = name_some([one])
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise HistoryInvalid(f"the rating of {named} is {repr(value)[:100]}, not a number") from None
        if not (low <= number <= high or (number == -1.0 and not scale.explicit)):  # NaN is refused too
            raise HistoryInvalid(
                f"the rating of {named} is {number:g}, outside the model's range {scale}; correct it or leave the "
                "item out"
                if scale.explicit
                else f"the history gives {named} the value {number:g}, but this model was trained on what people "
                "chose, without ratings; pass a list of item ids"
            )
        numbers[position] = number
    return numbers
