"""Under Flower's simulation: the same bytes, the same model, and nothing charged twice."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import Model, Ratings
from discreet.errors import SettingsInvalid
from discreet.silos.flower.client_app import client_app
from discreet.silos.flower.extra import pack, unpack
from discreet.silos.flower.run_files import RunFiles
from discreet.silos.flower.server_app import server_app
from discreet.silos.flower.silo_files import SiloFiles
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.agreement import Agreement
from tests.ports import free_port
from tests.silos.worlds import Run, agree, central, private_key, world

EXAMPLE = Path(__file__).parents[2] / "examples" / "flower"
FIXED_CLIENT = """
from discreet.silos.flower.client_app import client_app
def open_silo(place):
    return place.open(fixed_noise_key_not_private=f"noise of {place.name}, for tests".encode())
app = client_app(open_silo)
"""
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "OPENBLAS_NUM_THREADS": "1",
}


def lay_out(folder: Path, run: Run) -> None:
    """The files that the app reads, for a run of the tests."""
    assert run.catalogue is not None
    for name, ratings in run.parts.items():
        own = folder / "silos" / name
        own.mkdir(parents=True)
        (own / "mask.key").write_text(private_key(name).hex())
        frame(ratings).write_parquet(own / "ratings.parquet")
    pl.DataFrame({"item": run.catalogue.ids}).write_csv(folder / "items.csv")
    run.agreement.save(folder / "agreement.json")


def frame(ratings: Ratings) -> pl.DataFrame:
    assert ratings.catalogue is not None
    users = np.repeat(np.arange(ratings.n_users), np.diff(ratings.indptr))
    items = ratings.catalogue.ids[ratings.items]
    return pl.DataFrame({"user": users, "item": items, "rating": ratings.values})


def assert_same(one: Model, other: Model) -> None:
    assert one.item_side.factors.tobytes() == other.item_side.factors.tobytes()
    assert one.item_side.offsets.tobytes() == other.item_side.offsets.tobytes()
    assert one.statement == other.statement
    assert one.settings == other.settings


def test_without_flower_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("flwr", "flwr.app", "flwr.clientapp", "flwr.serverapp"):
        monkeypatch.setitem(sys.modules, name, None)
    for make in (client_app, server_app):
        with pytest.raises(SettingsInvalid, match=r"discreet\[flower\]"):
            make()


@pytest.mark.parametrize("config", [{}, {"folder": "here"}, {"folder": 3}, {"folder": "/a", "silos": "b"}])
def test_places_must_be_named_from_the_root_on(config: dict[str, Any]) -> None:
    with pytest.raises(SettingsInvalid, match="run config must"):
        RunFiles.of(config)
    assert RunFiles.of({"folder": "/a", "out": "/b"}).out == Path("/b")


class Link:
    """A SuperLink in simulation mode on free ports of the loopback interface, and ``flwr run`` against it."""

    def __init__(self, home: Path) -> None:
        binaries = Path(sys.executable).parent
        self.environment = {**os.environ, **QUIET, "FLWR_HOME": str(home)}
        self.environment["PATH"] = f"{binaries}{os.pathsep}{os.environ['PATH']}"
        ports = [free_port() for _ in range(2)]
        home.mkdir()
        (home / "config.toml").write_text(
            '[superlink]\ndefault = "here"\n'
            f'[superlink.here]\naddress = "127.0.0.1:{ports[0]}"\ninsecure = true\n'
        )
        arguments = f"--insecure --simulation --host 127.0.0.1 --port {ports[0]} "
        arguments += f"--control-api-address 127.0.0.1:{ports[1]}"
        self.log = home / "superlink.txt"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [binaries / "flower-superlink", *arguments.split()],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait_for(ports[0])

    def run(self, app: Path, folder: Path, silos: int = 3, **config: str) -> str:
        """What the run has logged, from its start to its end."""
        names = {"folder": str(folder), **config}
        done = subprocess.run(
            [
                *(Path(sys.executable).parent / "flwr", "run", app, "--stream"),
                *("--federation-config", f"num-supernodes={silos} client-resources-num-cpus=1"),
                *("--run-config", " ".join(f'{key}="{value}"' for key, value in names.items())),
            ],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _wait_for(self, port: int) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                assert self.process.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.2)


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Link]:
    pytest.importorskip("flwr")
    started = Link(tmp_path_factory.mktemp("flower") / "home")
    yield started
    started.end()


def test_flwr_run_trains_the_model_of_a_run_in_one_process(link: Link, tmp_path: Path) -> None:
    ratings = world()
    run = Run(tmp_path / "here", ratings, agree(ratings, 3))
    lay_out(tmp_path / "there", run)
    app = shutil.copytree(EXAMPLE, tmp_path / "app")
    (app / "silo_market" / "client_app.py").write_text(FIXED_CLIENT)
    log = link.run(app, tmp_path / "there", silos=4)
    assert (tmp_path / "there" / "model").is_dir(), log
    model = Model.load(tmp_path / "there" / "model")
    assert_same(model, run.finish())
    wanted = central(ratings, run.agreement)
    assert model.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
    for name, silo in run.silos.items():
        with SiloFiles(name, RunFiles.of({"folder": str(tmp_path / "there")})).open() as own:
            assert own.status() == silo.status()
    run.close()


def test_the_example_is_private_and_a_second_run_costs_nothing(link: Link, tmp_path: Path) -> None:
    folder = tmp_path / "market"
    subprocess.run([sys.executable, EXAMPLE / "prepare.py", folder], env=link.environment, check=True)
    log = link.run(EXAMPLE, folder)
    assert (folder / "model").is_dir(), log
    model = Model.load(folder / "model")
    assert model.statement.private
    assert model.statement.silos is not None
    assert model.statement.silos.count == 3
    assert model.item_side.rank > 0

    # A server that has forgotten everything asks it all again, and gets the same bytes.
    agreement = Agreement.load(folder / "agreement.json")
    silos = {name: SiloFiles(name, RunFiles.of({"folder": str(folder)})).open() for name in agreement.roster}
    before = {name: silo.status() for name, silo in silos.items()}
    with Coordinator(tmp_path / "again.sqlite", agreement) as coordinator:
        while (question := coordinator.question()) is not None:
            for name, silo in silos.items():
                coordinator.receive(name, silo.answer(question))
        assert_same(coordinator.model(model.catalogue), model)
    assert {name: silo.status() for name, silo in silos.items()} == before
    for silo in silos.values():
        silo.close()


def test_too_few_clients_are_named_and_nothing_is_charged(link: Link, tmp_path: Path) -> None:
    ratings = world()
    run = Run(tmp_path / "here", ratings, agree(ratings, 3))
    lay_out(tmp_path / "there", run)
    log = link.run(EXAMPLE, tmp_path / "there", silos=2)
    assert "no client stands for silo-02" in log
    assert not (tmp_path / "there" / "model").exists()
    assert not list((tmp_path / "there" / "silos").glob("*/silo.sqlite"))
    run.close()


def test_a_client_scheduled_twice_sends_the_same_bytes_for_one_charge(tmp_path: Path) -> None:
    flwr_app = pytest.importorskip("flwr.app")
    ratings = world()
    run = Run(tmp_path / "here", ratings, agree(ratings, 3), fixed=False)
    lay_out(tmp_path / "there", run)
    question = run.coordinator.question()
    assert question is not None

    def ask(kind: str, partition: int = 0, **fields: Any) -> dict[str, Any]:
        context = flwr_app.Context(
            1,
            7,
            {"partition-id": partition, "num-partitions": 3},
            flwr_app.RecordDict(),
            {"folder": str(tmp_path / "there")},
        )
        about = flwr_app.Metadata(1, "a", 1, 7, "", "", time.time(), 60.0, kind)
        message = flwr_app.Message(content=pack(fields), metadata=about)
        return unpack(client_app()(message, context).content)

    assert [ask("query", partition)["silo"] for partition in range(4)] == [
        "silo-00",
        "silo-01",
        "silo-02",
        "",
    ]
    first, second = ask("train", question=question), ask("train", question=question)
    assert list(first) == ["answer"]
    assert first == second
    with SiloFiles("silo-00", RunFiles.of({"folder": str(tmp_path / "there")})).open() as silo:
        assert len(silo.statement().releases) == 1
        spent = silo.status()["charged_mu"]
    assert list(ask("train", question=question[:-1] + b"?")) == ["refused"]
    assert list(ask("train", question="text")) == ["refused"]
    assert list(ask("train", 3, question=question)) == ["refused"]
    (tmp_path / "there" / "silos" / "silo-01" / "ratings.parquet").write_bytes(b"a secret")
    assert ask("train", 1, question=question) == {"failed": "see the client's log"}
    with SiloFiles("silo-00", RunFiles.of({"folder": str(tmp_path / "there")})).open() as silo:
        assert silo.status()["charged_mu"] == spent
    run.close()
