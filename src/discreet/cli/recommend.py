"""``discreet recommend``, ``similar`` and ``explain``: items for a person or for many, items like an item, and why."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import click
import polars as pl
from polars.io.plugins import register_io_source

from discreet.cli.histories import Person, of_one, read_histories
from discreet.cli.output import Answer, Output, check_file, printer, show_table
from discreet.cli.request import argument, option, takes
from discreet.cli.where import Place, Reader
from discreet.data import StoredRatings
from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings
from discreet.errors import HistoryInvalid, SettingsInvalid
from discreet.model import History, Model, Recommendations
from discreet.model.directory import replace_file
from discreet.model.explanation import Explanation
from discreet.model.history import BLOCK
from discreet.model.recommendations import FEW_STAND_OUT

__all__ = ["explain", "recommend", "show_recommendations", "similar"]

# Rows that are made at once, at least those of a block of users.
_ROWS = 1 << 20
_MARKS = {
    "unknown": "next to nothing is known about this item",
    "guess": "added after training, so known by its features alone",
}


class _Recommend(Person, Reader):
    count: int = option("How many items.", 10, name="-n", ge=1)
    out: Path | None = option("Write user, rank, item and score to a file: .parquet or .csv.", metavar="FILE")


@takes(_Recommend, "recommend")
def recommend(request: _Recommend) -> Answer:
    """This costs no privacy budget: a person's own history meets only what was released. With --out, users are
    written as they are done, and histories that do not fit into memory are grouped by user on disk first; FILE may
    also be a folder, a pattern, or the folder that train --blocks kept.

    \b
    Examples:
      discreet recommend model/ --history mine.csv -n 5
      discreet recommend model/ --history everyone.parquet --out recommendations.parquet
    """
    if request.out is not None:
        check_file(request.out, ".parquet", ".csv")
    model = Model.load(request.model)
    score_name = "predicted rating" if model.goal == "rate" else "score"
    with ExitStack() as held:
        history = _asked_for(read_histories(request, model, Place(request, [request.history], held)), request)
        if request.out is not None:
            answer = _write(model, history, request, request.out)
            _say_notes(model.notes)
            return answer
        if isinstance(history, StoredRatings):
            raise SettingsInvalid(
                "for everybody on disk there are too many rows to show; write them with --out FILE"
            )
        found = _recommend(model, history, request)
    if request.as_json:
        _say_notes(model.notes)

    def show() -> None:
        if isinstance(found, Recommendations):
            show_recommendations(found, "Recommended", score_name)
            return
        rows = (
            (user, rank, *(("none left", "") if item is None else (item, f"{score:.3f}")))
            for user, rank, item, score in found.iter_rows()
        )
        show_table(rows, ("user", "rank", "item", score_name))
        for note in model.notes:
            printer().print(_sentence(note))

    return Answer(_as_dict(found, request.user), show)


def _asked_for(histories: AnyRatings | History, request: _Recommend) -> AnyRatings | History:
    """Everybody, or the one who was named."""
    if request.user is not None:
        return of_one(histories, request)
    if request.disliked and isinstance(histories, Ratings | StoredRatings):
        raise HistoryInvalid(
            f"--disliked is what one person says, and {request.history} has several people's rows; name one with "
            "--user ID"
        )
    return histories


def _recommend(
    model: Model, history: Ratings | History, request: _Recommend
) -> Recommendations | pl.DataFrame:
    if isinstance(history, Ratings):
        return model.recommend_batch(history, request.count, unknown_items=request.unknown_items)
    return model.recommend(
        history, request.count, disliked=request.disliked, unknown_items=request.unknown_items
    )


def _as_dict(found: Recommendations | pl.DataFrame, user: str | None) -> dict[str, Any]:
    if isinstance(found, Recommendations):
        return {"user": user, **found.to_dict()}
    users = []
    for (one,), rows in found.group_by("user", maintain_order=True):
        given = rows.drop_nulls("item").drop("user", "rank").to_dicts()
        users.append({"user": one, "recommendations": given, "shortfall": rows.height - len(given)})
    return {"users": users}


def _write(model: Model, history: AnyRatings | History, request: _Recommend, out: Path) -> Answer:
    """All lists in a file, whole or not at all, written as they are made: never all of them in memory."""
    told = {"rows": 0, "shortfall": 0}

    def counted() -> Iterator[pl.DataFrame]:
        for frame in _frames(model, history, request):
            told["rows"] += frame.height
            told["shortfall"] += frame["item"].null_count()
            yield frame

    write = _write_csv if out.suffix.lower() == ".csv" else _write_parquet
    replace_file(out, lambda file: write(counted(), file), private=True)
    words = f"{told['rows']:,} rows, {told['shortfall']:,} of them without an item left, in {out}"
    return Answer({"out": str(out), **told}, words)


def _frames(model: Model, history: AnyRatings | History, request: _Recommend) -> Iterator[pl.DataFrame]:
    """Lists of some users each; from disk in the order of the blocks."""
    if not isinstance(history, Ratings | StoredRatings):
        found = _recommend(model, history, request)
        assert isinstance(found, Recommendations)
        rows = [(request.user, rank, one.item, one.score) for rank, one in enumerate(found, 1)]
        yield pl.DataFrame(rows, schema=["user", "rank", "item", "score"], orient="row")
        return
    step = max(1, _ROWS // request.count // BLOCK) * BLOCK
    for part in [history] if isinstance(history, Ratings) else history.blocks(with_ids=True):
        for start in range(0, part.n_users, step):
            some = part.take_users(slice(start, start + step))
            yield model.recommend_batch(some, request.count, unknown_items=request.unknown_items)


def _write_csv(frames: Iterable[pl.DataFrame], file: BinaryIO) -> None:
    for number, frame in enumerate(frames):
        frame.write_csv(file, include_header=number == 0)


def _write_parquet(frames: Iterator[pl.DataFrame], file: BinaryIO) -> None:
    first = next(frames)
    failed: list[BaseException] = []

    def source(*pushed_down: object) -> Iterator[pl.DataFrame]:
        try:
            yield from itertools.chain([first], frames)
        except BaseException as error:  # polars would tell of it in words of its own
            failed.append(error)

    table = register_io_source(source, schema=first.schema)
    table.sink_parquet(file, engine="streaming", maintain_order=True)
    if failed:
        raise failed[0]


def show_recommendations(found: Recommendations, title: str, score_name: str) -> None:
    """Print ranks, items, titles and marks where there are any, scores, and what is missing."""
    headings = ("", "item", "title", score_name, "± by noise", "mark")
    rows = [
        (
            *(str(rank), str(one.item), one.title or "", f"{one.score:.3f}"),
            *("" if one.deviation is None else f"{one.deviation:.3f}", one.mark or ""),
        )
        for rank, one in enumerate(found, 1)
    ]
    # Of what no item has there is no column.
    kept = [place for place in range(6) if place not in (2, 4, 5) or any(row[place] for row in rows)]
    shown = [[row[place] for place in kept] for row in rows]
    show_table(shown, [headings[place] for place in kept], title, right=("", score_name, "± by noise"))
    console = printer()
    for line in (*_explained(entry.mark for entry in found), *map(_sentence, found.notes)):
        console.print(line)
    if found.shortfall and FEW_STAND_OUT not in found.notes:
        console.print(f"{found.shortfall} of {found.requested} are missing: no more items are left.")
    if found.ignored:
        console.print(f"{found.ignored} unknown ids were left out.")


def _explained(marks: Iterable[str | None]) -> list[str]:
    """One line for each mark that occurs, and what it means."""
    present = set(marks)
    return [f"{mark}: {meaning}." for mark, meaning in _MARKS.items() if mark in present]


def _sentence(note: str) -> str:
    """A note as a sentence of its own."""
    return f"{note[0].upper()}{note[1:]}."


def _say_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, where they are not in the way of JSON."""
    for note in notes:
        click.echo(_sentence(note), err=True)


class _Similar(Output):
    model: str = argument("MODEL")
    item: str = option("Id of the item to compare with.")
    count: int = option("How many items.", 10, name="-n", ge=1)


@takes(_Similar, "similar")
def similar(request: _Similar) -> Answer:
    """Of a table of weights: how often two items are taken together, over the root of how often each is, with the
    standard deviation that the noise gives it. What does not stand out of the noise is not shown.

    Of factors: the expected correlation of what people think of the two items. It is smaller for items of which little
    is known; such items are marked.

    \b
    Example:
      discreet similar model/ --item item-17 -n 5
    """
    model = Model.load(request.model)
    found = model.similar(request.item, request.count)
    if request.as_json:
        _say_notes(found.notes)
    show = partial(show_recommendations, found, f"Like {request.item}", "similarity")
    return Answer({"item": request.item, **found.to_dict()}, show)


class _Explain(Person):
    item: str | None = option("Which item.  [default: the first that is recommended]")
    count: int = option("How many ratings to show.", 10, name="-n", ge=1)


@takes(_Explain, "explain")
def explain(request: _Explain) -> Answer:
    """The parts add up to the score. This costs no privacy budget: a person's own history meets only what was released.

    \b
    Example:
      discreet explain model/ --history mine.csv --item item-17
    """
    model = Model.load(request.model)
    with ExitStack() as held:
        place = Place(Reader(), [request.history], held)
        history = of_one(read_histories(request, model, place), request)
    said: dict[str, Any] = {"disliked": request.disliked, "unknown_items": request.unknown_items}
    wanted: Any = request.item
    if wanted is None:
        best = list(model.recommend(history, 1, **said))
        if not best:
            raise HistoryInvalid(
                "the history has every item, so none is left to recommend; name one with --item"
            )
        wanted = best[0].item
    found = model.explain(history, wanted, **said)
    explicit = model.item_side.scale.explicit
    return Answer(found.to_dict(), partial(_show_reasons, found, request.count, explicit=explicit))


def _show_reasons(found: Explanation, count: int, *, explicit: bool) -> None:
    rates = found.goal == "rate"
    others = found.pulls[count:]
    middle = "for everybody: the middle of the scale" if rates else "for everybody"
    itself = f"the item itself: how {'well it is liked' if rates else 'popular it is'}"
    given = ((middle, found.centre), (itself, found.offset), ("what is not in the history", found.rest))
    rows = [(what, "", adds) for what, adds in given if abs(adds) > 5e-5]
    rows += [
        (str(one.title or one.item), _said(one.rating, explicit), one.total) for one in found.pulls[:count]
    ]
    if others:
        rows.append((f"{len(others)} more ratings together", "", sum(one.total for one in others)))
    if abs(found.cut) > 5e-5:
        rows.append(("brought back into the range", "", found.cut))
    shown = [(what, said, f"{adds:+.4f}") for what, said, adds in rows]
    shown.append(("predicted rating" if rates else "score", "", f"{found.score:.4f}"))
    show_table(
        shown, ("what", "rating", "adds"), f"Why {found.title or found.item}?", right=("rating", "adds")
    )
    for line in (*_explained([found.mark]), *map(_sentence, found.notes)):
        printer().print(line)
    if found.ignored:
        printer().print(f"{found.ignored} unknown ids were left out.")


def _said(rating: float | None, explicit: bool) -> str:
    if rating is None:
        return "chosen"
    return f"{rating:g}" if explicit else "not for me"
