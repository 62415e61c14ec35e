"""A device from the command line: ``python -m discreet.devices.device --file me.sqlite COMMAND ...``."""

from __future__ import annotations

import argparse
import csv
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

from .catalogue import Id, digest, read_ids
from .client import PACE_SECONDS, Connection, answer_round, fetch_released, join, recommend_items
from .store import DeviceStore

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 2 means that it was refused, and a message says why."""
    options = _parser().parse_args(arguments)
    try:
        with DeviceStore(options.file) as store:
            print(json.dumps(options.run(store, options)))
    except (ValueError, ArithmeticError, OSError, sqlite3.Error) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    return 0


def _rate(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    ids = None if options.catalogue is None else read_ids(options.catalogue)
    numbers = None if ids is None else {str(one): number for number, one in enumerate(ids)}
    with open(options.ratings, newline="", encoding="utf-8") as rows:
        reader = csv.reader(rows)
        try:
            ratings = {_number(item, numbers): float(rating) for item, rating in reader}
        except (ValueError, csv.Error) as error:
            where = f"{options.ratings}, line {reader.line_num}"
            raise ValueError(f"{where}: not an item and a rating ({error})") from error
    if ids is not None:
        store.pin_catalogue(digest(ids))
    store.rate(ratings)
    return {"ratings": len(store.ratings())}


def _number(item: str, numbers: dict[str, int] | None) -> int:
    if numbers is None:
        return int(item)
    if item not in numbers:
        raise ValueError(f"{item[:100]!r} is not in the list")
    return numbers[item]


def _join(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    wanted = None if options.catalogue is None else digest(read_ids(options.catalogue))
    with _connect(options) as connection:
        terms = join(store, connection, options.task, options.epsilon, wanted)
    return dict(json.loads(terms.to_json()))


def _answer(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    with _connect(options) as connection:
        return answer_round(store, connection, options.task, options.pace)._asdict()


def _fetch(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    with _connect(options) as connection:
        side = fetch_released(store, connection, options.task, options.round)
    return {"round": side.round, "items": side.items, "rank": side.rank}


def _recommend(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    ids: list[Id] | range = range(store.terms(options.task).items)
    if options.catalogue is not None:
        ids = read_ids(options.catalogue)
        store.pin_catalogue(digest(ids))
    best = recommend_items(store, options.task, options.n)
    return {"items": [{"item": ids[item], "rating": rating} for item, rating in best]}


def _cap(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    store.set_cap(None if options.epsilon == "none" else float(options.epsilon))
    return {"cap": store.cap(), "spent": float(store.spent_in_all())}


def _leave(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    store.leave(options.task)
    return {"left": options.task, "spent": float(store.spent(options.task))}


def _connect(options: argparse.Namespace) -> Connection:
    token = options.token_file and Path(options.token_file).read_text(encoding="utf-8").strip()
    return Connection(options.url, token)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="device", description=__doc__)
    parser.add_argument("--file", required=True, help="the device's own file; made if it is not there")
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name: str, run: Any, words: str, *, asks: bool = False) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=words)
        command.set_defaults(run=run)
        if asks:
            command.add_argument("url", help="http(s)://host:port of the collector")
            command.add_argument("task")
            command.add_argument("--token-file", help="file with the token for devices")
        return command

    rate = add("rate", _rate, "write down ratings")
    rate.add_argument("ratings", help="CSV: item, rating")
    rate.add_argument("--catalogue", help="the item list; without it, items are given by index")
    entering = add("join", _join, "agree to a task's terms", asks=True)
    entering.add_argument("--epsilon", type=float, required=True, help="most that all answers may cost")
    entering.add_argument("--catalogue", help="the item list: refuse a task about another one")
    paced = "send a whole number of seconds times this after starting, so that time tells nothing; 0: at once"
    answering = add("answer", _answer, "answer the open round, once", asks=True)
    answering.add_argument("--pace", type=float, default=PACE_SECONDS, help=paced)
    fetching = add("fetch", _fetch, "get the item side released after a round", asks=True)
    fetching.add_argument("round", type=int)
    best = add("recommend", _recommend, "the best items by what was released last; nothing is sent")
    best.add_argument("task")
    best.add_argument("-n", type=int, default=10)
    best.add_argument("--catalogue", help="the item list; without it, items are shown by index")
    most = add("cap", _cap, "most that all tasks together may spend")
    most.add_argument("epsilon", help="a number above 0, or none")
    add("leave", _leave, "answer no more questions of a task").add_argument("task")
    add("transcript", lambda store, _: store.transcript(), "every question and answer, and what it cost")
    return parser


if __name__ == "__main__":
    sys.exit(main())
