"""Thousands of real devices against a real collector on this machine: each has its own file, and all goes over HTTP.

:mod:`.simulation` is the quick way, in one process; this one runs every line that devices and a collector would run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.devices.collector.admin import Admin
from discreet.devices.collector.model import fetch_model
from discreet.devices.collector.task_config import make_config
from discreet.devices.device.client import Cost, answer_round, fetch_released, join
from discreet.devices.device.recommend import predict
from discreet.devices.device.store import DeviceStore
from discreet.devices.device.terms import Terms
from discreet.devices.device.transport import Connection
from discreet.devices.settings import DeviceSettings
from discreet.errors import Unreachable
from discreet.model import Model

__all__ = ["Outcome", "run_on_loopback", "running_collector"]

TASK = "simulation"
THREADS = 8
PROCESSES = 2
Pairs = dict[int, float]


@dataclass(frozen=True)
class _Batch:
    """Some of the devices: their files, and where they send to."""

    url: str
    files: list[str]


@dataclass(frozen=True)
class Outcome:
    """The model that the collector came to, and what the run cost and was worth."""

    model: Model
    measured: dict[str, Any]


@contextmanager
def running_collector(store: str | Path, *options: str) -> Iterator[str]:
    """A collector of its own process on a free port of this machine; gives its address."""
    command = [sys.executable, "-m", "discreet", "collect", "serve", "--store", str(store), *options]
    with subprocess.Popen(
        [*command, "--port", "0", "--json", "--quiet"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise Unreachable("the collector did not start; its message is above")
            yield json.loads(line)["address"]
        finally:
            process.terminate()
            process.wait()


def run_on_loopback(
    train: Ratings,
    test: Ratings,
    epsilon: float,
    settings: DeviceSettings,
    minimum: int,
    report: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> Outcome:
    """Let every user be a device: join, answer every round, fetch what is released and predict the test ratings."""
    assert train.rating_range is not None
    assert train.catalogue is not None
    config = make_config(TASK, train.catalogue, train.rating_range, epsilon, settings.model_dump(), minimum)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_collector(f"{folder}/collector.sqlite") as url,
        ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool,
    ):
        admin = Admin(url)
        admin.create(config)
        rounds = config.terms.rounds
        files = [f"{folder}/device-{user}.sqlite" for user in range(train.n_users)]
        batches = [_Batch(url, files[start::PROCESSES]) for start in range(PROCESSES)]
        kept = [
            [_ratings_of(train, user) for user in range(start, train.n_users, PROCESSES)]
            for start in range(PROCESSES)
        ]
        list(pool.map(_join_all, batches, kept, [config.terms] * PROCESSES))
        costs, seconds = [], 0.0
        for number in range(1, rounds + 1):
            started = time.perf_counter()
            given = [cost for batch in pool.map(_answer_all, batches) for cost in batch]
            costs += given
            seconds += time.perf_counter() - started
            admin.close(TASK, number)
            report("rounds", number, rounds)
        asked = [
            [_ratings_of(test, user) for user in range(start, train.n_users, PROCESSES)]
            for start in range(PROCESSES)
        ]
        wrong = list(pool.map(_test_all, batches, asked, [rounds] * PROCESSES))
        model = fetch_model(admin, TASK)
    return Outcome(model, {"rounds": rounds, **_summarise(costs, seconds), **_errors(wrong)})


def _summarise(costs: list[Cost], seconds: float) -> dict[str, Any]:
    given = [cost for cost in costs if cost.result == "answered"]
    return {
        "reports": len(given),
        "reports_per_second": len(given) / seconds,
        "visits_per_second": len(costs) / seconds,
        "bytes_sent_per_report": float(np.mean([cost.bytes_sent for cost in given])),
        "bytes_received_per_report": float(np.mean([cost.bytes_received for cost in given])),
        "ms_per_answer": float(np.mean([cost.compute_ms for cost in given])),
    }


def _errors(wrong: list[tuple[int, float, float]]) -> dict[str, Any]:
    count, ours, own_mean = np.sum(np.array(wrong), axis=0)
    return {"rmse": float(np.sqrt(ours / count)), "rmse_user_mean": float(np.sqrt(own_mean / count))}


def _ratings_of(ratings: Ratings, user: int) -> Pairs:
    part = slice(ratings.indptr[user], ratings.indptr[user + 1])
    return dict(zip(ratings.items[part].tolist(), ratings.values[part].tolist(), strict=True))


def _join_all(batch: _Batch, kept: list[Pairs], terms: Terms) -> None:
    def one(file: str, ratings: Pairs) -> None:
        with DeviceStore(file) as store, Connection(batch.url) as connection:
            store.rate(ratings)
            join(store, connection, TASK, terms.epsilon, terms.catalogue)

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(one, batch.files, kept))


def _answer_all(batch: _Batch) -> list[Cost]:
    def one(file: str) -> Cost:
        with DeviceStore(file) as store, Connection(batch.url) as connection:
            return answer_round(store, connection, TASK, pace=0.0)

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(one, batch.files))


def _test_all(batch: _Batch, asked: list[Pairs], rounds: int) -> tuple[int, float, float]:
    def one(file: str, hidden: Pairs) -> tuple[int, float, float]:
        with DeviceStore(file) as store, Connection(batch.url) as connection:
            side = fetch_released(store, connection, TASK, rounds)
            ratings, span = store.ratings(), store.terms(TASK).range
        guesses = predict(ratings, side, span, hidden)
        mean = sum(ratings.values()) / len(ratings) if ratings else 0.5 * (span[0] + span[1])
        ours = sum((guess - true) ** 2 for guess, true in zip(guesses, hidden.values(), strict=True))
        return len(hidden), ours, sum((mean - true) ** 2 for true in hidden.values())

    with ThreadPoolExecutor(THREADS) as threads:
        results = list(threads.map(one, batch.files, asked))
    return sum(r[0] for r in results), sum(r[1] for r in results), sum(r[2] for r in results)
