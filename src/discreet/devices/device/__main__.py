"""A device from the command line: ``python -m discreet.devices.device --file me.sqlite COMMAND ...``."""

from __future__ import annotations

import argparse
import csv
import json
import sqlite3
import sys
from typing import Any

from .client import PACE_SECONDS, answer_round, fetch_released, join, recommend_items
from .store import DeviceStore
from .transport import Connection

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 2 means that it was refused, and a message says why."""
    options = _parser().parse_args(arguments)
    try:
        with DeviceStore(options.file) as store:
            print(json.dumps(_COMMANDS[options.command](store, options)))
    except (ValueError, ArithmeticError, OSError, sqlite3.Error) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    return 0


def _rate(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    with open(options.ratings, newline="", encoding="utf-8") as rows:
        reader = csv.reader(rows)
        try:
            ratings = {int(item): float(rating) for item, rating in reader}
        except (ValueError, csv.Error) as error:
            raise ValueError(
                f"{options.ratings}, line {reader.line_num}: not an item's index and a rating ({error})"
            ) from error
    store.rate(ratings)
    return {"ratings": len(store.ratings())}


def _join(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    with _connect(options) as connection:
        terms = join(store, connection, options.task, options.epsilon)
    return dict(json.loads(terms.to_json()))


def _answer(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    with _connect(options) as connection:
        return answer_round(store, connection, options.task, options.pace)._asdict()


def _fetch(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    with _connect(options) as connection:
        released = fetch_released(store, connection, options.task, options.round)
    return {"round": released.round, "items": released.items, "rank": released.rank}


def _recommend(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    best = recommend_items(store, options.task, options.n)
    return {"items": [{"item": item, "rating": rating} for item, rating in best]}


def _status(store: DeviceStore, options: argparse.Namespace) -> dict[str, Any]:
    tasks = {
        task: {"spent": float(store.spent(task)), "agreed": store.terms(task).epsilon}
        for task in store.tasks()
    }
    return {"ratings": len(store.ratings()), "tasks": tasks}


_COMMANDS = {
    "rate": _rate,
    "join": _join,
    "answer": _answer,
    "fetch": _fetch,
    "recommend": _recommend,
    "status": _status,
}


def _connect(options: argparse.Namespace) -> Connection:
    token = None
    if options.token_file is not None:
        with open(options.token_file, encoding="utf-8") as file:
            token = file.read().strip()
    return Connection(options.url, token=token, authorities=options.authorities)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="device", description=__doc__)
    parser.add_argument("--file", required=True, help="the device's own file; made if it is not there")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("rate", help="write down ratings").add_argument(
        "ratings", help="CSV: item index, rating"
    )
    commands.add_parser("status", help="what was agreed and what is spent")
    best = commands.add_parser("recommend", help="the best items by what was released last; nothing is sent")
    best.add_argument("task")
    best.add_argument("-n", type=int, default=10)
    for name, words in (
        ("join", "agree to a task's terms"),
        ("answer", "answer the open round, once"),
        ("fetch", "get the item side released after a round"),
    ):
        command = commands.add_parser(name, help=words)
        command.add_argument("url", help="http(s)://host:port of the collector")
        command.add_argument("task")
        command.add_argument("--token-file", help="file with the token for devices")
        command.add_argument("--authorities", help="file with the certificates to trust")
        if name == "join":
            command.add_argument(
                "--epsilon", type=float, required=True, help="most that all answers may cost"
            )
        if name == "answer":
            command.add_argument(
                "--pace",
                type=float,
                default=PACE_SECONDS,
                help="send a whole number of seconds times this after starting, so that time tells nothing; 0: at once",
            )
        if name == "fetch":
            command.add_argument("round", type=int)
    return parser


if __name__ == "__main__":
    sys.exit(main())
