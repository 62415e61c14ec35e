"""Real devices against a real collector on this machine: each has its own file, and all goes over HTTP.

:mod:`.simulation` is the quick way, in one process; this one runs every line that devices and a collector would run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.devices.collector.admin import Admin, fetch_model
from discreet.devices.collector.task_config import make_config
from discreet.devices.device.client import Connection, answer_round, fetch_released, join, recommend_items
from discreet.devices.device.store import DeviceStore
from discreet.devices.task import DeviceSettings
from discreet.errors import Unreachable
from discreet.evaluation import evaluate_ratings
from discreet.evaluation.metrics import rmse, user_means
from discreet.model import Model

__all__ = ["run_on_loopback", "running_collector"]

TASK, THREADS, LISTED = "simulation", 8, 10


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
) -> tuple[Model, dict[str, Any]]:
    """Let every user be a device: join, answer every round, fetch what is released and judge it by the test ratings.

    Gives the model that the collector came to, and what the run cost and was worth.
    """
    assert train.rating_range is not None
    assert train.catalogue is not None
    given = {"task": TASK, "range": train.rating_range, "epsilon": epsilon, "minimum": minimum}
    config = make_config(train.catalogue, settings.model_dump(), **given)
    rounds, users = config.terms.rounds, range(train.n_users)
    answer_ms: list[float] = []
    seconds = 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        running_collector(f"{folder}/collector.sqlite") as url,
        ThreadPoolExecutor(THREADS) as threads,
    ):

        def everyone(work: Callable[[int, DeviceStore, Connection], Any]) -> list[Any]:
            def one(user: int) -> Any:
                with DeviceStore(f"{folder}/device-{user}.sqlite") as store, Connection(url) as connection:
                    return work(user, store, connection)

            return list(threads.map(one, users))

        def enter(user: int, store: DeviceStore, connection: Connection) -> None:
            store.rate(_ratings_of(train, user))
            join(store, connection, TASK, epsilon, config.terms.catalogue)

        admin = Admin(url)
        admin.create(config)
        everyone(enter)
        for number in range(1, rounds + 1):
            started = time.perf_counter()
            outcomes = everyone(lambda _, store, connection: answer_round(store, connection, TASK, pace=0.0))
            seconds += time.perf_counter() - started
            answer_ms += [one.compute_ms for one in outcomes if one.result == "answered"]
            admin.close(TASK, number)
            report("rounds", number, rounds)
        listed = everyone(lambda _, store, connection: _listed(store, connection, rounds))
        model = fetch_model(admin, TASK)
    hidden = [set(_ratings_of(test, user)) for user in users]
    found = sum(len(one & own) for one, own in zip(listed, hidden, strict=True))
    measured = {
        "rounds": rounds,
        "reports": len(answer_ms),
        "reports_per_second": len(answer_ms) / seconds,
        "ms_per_answer": float(np.mean(answer_ms)),
        f"found_in_{LISTED}": found / max(1, test.n_ratings),
    }
    if settings.goal == "rate":
        judged = evaluate_ratings(model, train, test)
        own_means = np.repeat(user_means(train, 0.5 * sum(train.rating_range)), np.diff(test.indptr))
        measured |= {"rmse": judged.rmse, "rmse_user_mean": rmse(own_means, test.values)}
    return model, measured


def _ratings_of(ratings: Ratings, user: int) -> dict[int, float]:
    part = slice(ratings.indptr[user], ratings.indptr[user + 1])
    return dict(zip(ratings.items[part].tolist(), ratings.values[part].tolist(), strict=True))


def _listed(store: DeviceStore, connection: Connection, rounds: int) -> set[int]:
    fetch_released(store, connection, TASK, rounds)
    return {item for item, _ in recommend_items(store, TASK, LISTED)}
