"""Clusters of several nodes, of which some are lost, and runs whose own process is killed. By ``make ray``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="the extra ray is not installed; make ray installs it and runs these")

import ray

from discreet import Budget, BudgetedALS, ItemMean, LedgerFile, Ratings
from discreet.data import StoredRatings
from discreet.engines import ray as engine_module
from discreet.engines.cluster import Cluster
from discreet.errors import SettingsInvalid, Unreachable
from discreet.model import Model
from discreet.privacy import Noise
from tests.engines.cluster.dying import DEATHS, Lost, deaths
from tests.engines.cluster.nodes import cluster, end_all, end_of
from tests.engines.tables import in_memory, stored, table
from tests.engines.test_kills import begin, check
from tests.ports import free_port

BUDGET = Budget(500.0, 1e-6)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Of a cluster's files: short, as its sockets are in it."""
    place = Path(tempfile.mkdtemp(prefix="ray-"))
    yield place
    gone = end_of(str(place))
    end_all(str(place))
    shutil.rmtree(place)
    assert gone


@pytest.fixture
def both(tmp_path: Path) -> tuple[Ratings, StoredRatings]:
    source = tmp_path / "ratings.parquet"
    table(rows=900, users=80).write_parquet(source)
    return in_memory(source), stored(source, tmp_path / "blocks")


def fitted(method: BudgetedALS, ratings: Ratings | StoredRatings, engine: Cluster | None = None) -> Model:
    noise = Noise.fixed_key_not_private("the same twice")
    return method.fit(ratings, BUDGET, rng=3, noise=noise, engine=engine).model_


def wait_for_nodes(count: int) -> None:
    end = time.monotonic() + 120
    while sum(node["Alive"] for node in ray.nodes()) < count:
        assert time.monotonic() < end, "a node did not come"
        time.sleep(0.2)


def test_two_nodes_one_of_which_is_lost_in_the_middle_of_a_query(
    both: tuple[Ratings, StoredRatings], folder: Path, tmp_path: Path
) -> None:
    whole, blocks = both
    wanted = fitted(BudgetedALS(rank=2, rounds=2), whole)
    noted = tmp_path / "deaths"
    noted.mkdir()
    # Only on the second node does anybody die, and takes it along.
    with cluster(folder, [1, 1], [{}, {DEATHS: str(noted)}]) as address, Cluster(address).connect():
        wait_for_nodes(2)
        assert fitted(BudgetedALS(rank=2, rounds=2), blocks, Cluster(address)).digest == wanted.digest
        found = fitted(Lost(rank=2, rounds=2), blocks, Cluster(address))
        assert deaths(noted) == 1
        assert sum(node["Alive"] for node in ray.nodes()) == 1
    assert found.digest == wanted.digest


def test_no_node_to_compute_on_ends_in_words(
    both: tuple[Ratings, StoredRatings], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "deaths"
    noted.mkdir()
    monkeypatch.setattr(engine_module, "BEAT", 0.5)
    monkeypatch.setattr(engine_module, "PATIENCE", 2.0)
    with cluster(folder, [0, 1], [{}, {DEATHS: str(noted)}]) as address:
        with Cluster(address).connect():
            wait_for_nodes(2)
            with pytest.raises(Unreachable, match="no node with a processor"):
                fitted(Lost(rank=2, rounds=2), both[1], Cluster(address))
            with pytest.raises(Unreachable, match="no node with a processor"):
                fitted(BudgetedALS(rank=2, rounds=2), both[1], Cluster(address))
        monkeypatch.setattr(ray, "__version__", "2.0.0")
        with (
            pytest.raises(SettingsInvalid, match=r"other versions .*Ray: 2\.0\.0.*Install the same"),
            Cluster(address).connect(),
        ):
            pass


def test_an_address_where_nobody_is(both: tuple[Ratings, StoredRatings], tmp_path: Path) -> None:
    port, ledger = free_port(), tmp_path / "people.ledger"
    with pytest.raises(Unreachable, match=rf"no cluster answers at 127\.0\.0\.1:{port} .*ray start --head"):
        ItemMean().fit(both[1], BUDGET, engine=Cluster(f"127.0.0.1:{port}"), ledger=ledger)
    assert not ledger.exists()


@pytest.mark.parametrize("instant", ["after a charge", "between a release and its record"])
def test_a_run_whose_own_process_is_killed_goes_on(instant: str, tmp_path: Path, folder: Path) -> None:
    ratings = begin(tmp_path)
    given = ["--instant", instant, "--count", "3", "--engine", "ray"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.killed", str(tmp_path), *given],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert [bool(status) for status in told["statuses"]] == [True, False]
    check(tmp_path, told, ratings)
    (entered,) = LedgerFile(tmp_path / "people.ledger").account().runs.values()
    assert len(entered.charges) == len({charge.name for charge in entered.charges})
