"""On a Ray cluster the model is memory's to the last bit, whoever dies; nothing is paid twice. By ``make ray``."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

pytest.importorskip("ray", reason="the extra ray is not installed; make ray installs it and runs these")


import polars as pl
from click.testing import CliRunner

from discreet import Budget, BudgetedALS, ItemMean, LedgerFile, Ratings
from discreet.cli import main
from discreet.data import StoredRatings
from discreet.engines import ray as engine_module
from discreet.engines.cluster import Cluster
from discreet.engines.memory import MemoryEngine
from discreet.engines.ray import RayEngine
from discreet.errors import RatingsInvalid, SettingsInvalid, Unreachable
from discreet.kernels.tiles import arithmetic
from discreet.methods.method import PrivateMethod
from discreet.methods.published.private.baselines import BaselineContributions
from discreet.methods.published.public.baselines import ChoicesQuery
from discreet.model import Model
from discreet.privacy import Noise
from tests.conformance.cases import CASES
from tests.engines.cluster.dying import DEATHS, Dying, deaths
from tests.engines.cluster.nodes import STORE, end_all, end_of, processes
from tests.engines.tables import CATALOGUE, in_memory, stored, table
from tests.ports import free_port

BUDGET = Budget(500.0, 1e-6)
LOCAL = Cluster(object_store_bytes=STORE)
# Sums for each item, and matrices for each item or for all of them together.
WAYS = [
    next(case for case in CASES if case.name == name and case.kind == "explicit")
    for name in ("budgeted", "dpals", "svd")
]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "ratings.parquet"
    table(rows=900, users=80).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def whole(source: Path) -> Ratings:
    return in_memory(source)


@pytest.fixture(scope="module")
def blocks(source: Path) -> StoredRatings:
    return stored(source, source.parent / "blocks")


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the workers of a local cluster note that they died."""
    return tmp_path_factory.mktemp("deaths")


@pytest.fixture(scope="module")
def local(noted: Path) -> Iterator[Cluster]:
    """A cluster of this machine's own; nothing of it is left in the end."""
    with TemporaryDirectory(prefix="ray-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(DEATHS, str(noted))
        patch.setattr(tempfile, "tempdir", folder)
        with LOCAL.connect():
            assert processes(folder)
            yield LOCAL
        gone = end_of(folder)
        end_all(folder)
        assert gone
        assert not list(Path(folder).iterdir())


def fitted(method: PrivateMethod, ratings: Any, **named: Any) -> Model:
    noise = Noise.fixed_key_not_private("the same twice")
    return method.fit(ratings, BUDGET, rng=3, noise=noise, **named).model_


def rounds(method: type[BudgetedALS] = BudgetedALS) -> BudgetedALS:
    return method(rank=2, rounds=2)


def test_one_two_and_four_workers_give_the_model_of_memory(
    whole: Ratings, blocks: StoredRatings, local: Cluster
) -> None:
    wanted = {case.name: fitted(case.method(), whole).digest for case in WAYS}
    assert len(set(wanted.values())) == len(WAYS)
    for workers in (1, 2, 4):
        for case in WAYS if workers == 2 else WAYS[:2]:
            told: list[tuple[str, int, int]] = []
            model = fitted(
                case.method(),
                blocks,
                engine=Cluster(workers=workers),
                progress=lambda *given, told=told: told.append(given),
            )
            assert model.digest == wanted[case.name], (case.name, workers)
            assert ("adding up", workers, workers) in told


def test_sums_in_a_tree(
    whole: Ratings, blocks: StoredRatings, local: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = ChoicesQuery("choices", 0.1, whole.n_items)
    (wanted,) = MemoryEngine(BaselineContributions, whole).totals(query)
    # Two at a time, so that sums of sums are added too.
    monkeypatch.setattr(engine_module, "FAN_IN", 2)
    engine = RayEngine(BaselineContributions, blocks, workers=5)
    (found,) = engine.totals(query)
    assert (found.value == wanted.value).all()
    assert (found.unit == wanted.unit).all()
    # The comparison has power: a worker who is asked twice, or not at all, shows.
    for wrong in (engine._workers[1:], [*engine._workers, engine._workers[0]]):
        engine._workers = wrong
        (found,) = engine.totals(query)
        assert (found.value != wanted.value).any()


def test_a_worker_is_killed_in_every_round_and_no_bit_changes(
    whole: Ratings, blocks: StoredRatings, local: Cluster, noted: Path
) -> None:
    wanted, before = fitted(rounds(), whole), deaths(noted)
    found = fitted(rounds(Dying), blocks, engine=Cluster(workers=2))
    assert deaths(noted) - before == len(wanted.statement.releases) == 4
    assert found.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
    assert found.digest == wanted.digest


def test_workers_that_die_are_not_paid_for_twice(
    blocks: StoredRatings, local: Cluster, noted: Path, tmp_path: Path
) -> None:
    ledger, before = tmp_path / "people.ledger", deaths(noted)
    budget = Budget(400.0, 1e-6)
    model = (
        rounds(Dying).fit(blocks, budget, rng=3, ledger=ledger, checkpoint=tmp_path / "run", engine=local)
    ).model_
    (entered,) = LedgerFile(ledger).account().runs.values()
    assert deaths(noted) - before == len(model.statement.releases)
    assert entered.state == "ended"
    assert [(charge.name, charge.price.mu) for charge in entered.charges] == [
        (release.name, release.mu) for release in model.statement.releases
    ]
    assert model.statement.epsilon == budget.epsilon


def test_the_command_line_trains_on_a_cluster_and_leaves_nothing(source: Path, local: Cluster) -> None:
    items, out = source.parent / "items.csv", source.parent / "model"
    pl.DataFrame({"item": CATALOGUE.ids}).write_csv(items)
    given = (
        f"train {source} --user who --item what --catalogue {items} --method popularity --out {out} --json"
    )
    more = "--missing drop --unknown-items drop --epsilon 5 --delta 1e-3 --engine ray --workers 2"
    result = CliRunner().invoke(main, [*given.split(), *more.split()])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["holder"]["engine"] == "ray"
    assert told["private"]
    assert Model.load(out).statement.private
    assert not out.with_name("model.run").exists()


def test_a_block_that_a_node_does_not_see_is_named_and_nothing_is_charged(
    source: Path, local: Cluster, tmp_path: Path
) -> None:
    ratings = stored(source, tmp_path / "blocks")
    gone = sorted((tmp_path / "blocks").glob("block-*"))[1]
    gone.rename(tmp_path / "elsewhere")
    with pytest.raises(RatingsInvalid, match=rf"on node .*{gone.name} cannot be read.*under the same path"):
        ItemMean().fit(ratings, BUDGET, engine=local, ledger=tmp_path / "people.ledger")
    (entered,) = LedgerFile(tmp_path / "people.ledger").account().runs.values()
    assert not entered.charges
    # Altered, and not only gone.
    gone.write_bytes((tmp_path / "elsewhere").read_bytes()[:-1] + b"x")
    with pytest.raises(RatingsInvalid, match=rf"on node .*{gone.name} was altered or damaged"):
        ItemMean().fit(ratings, BUDGET, engine=local)


def test_another_version_on_a_node_is_refused(
    blocks: StoredRatings, local: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "__version__", "0.0.1")
    with pytest.raises(SettingsInvalid, match=r"the run was started with 0\.0\.1; install the same"):
        ItemMean().fit(blocks, BUDGET, engine=local)


def test_a_node_that_rounds_differently_is_refused(
    blocks: StoredRatings, local: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = arithmetic()
    monkeypatch.setattr(engine_module, "arithmetic", lambda: ("another processor", *here[1:]))
    with pytest.raises(
        SettingsInvalid, match=r"rounds in its own way.*the run was started on another processor"
    ):
        ItemMean().fit(blocks, BUDGET, engine=local)
    monkeypatch.setattr(engine_module, "arithmetic", lambda: (*here[:-1], f"{here[-1]},+fma9"))
    with pytest.raises(SettingsInvalid, match="all nodes must be of one kind"):
        ItemMean().fit(blocks, BUDGET, engine=local)


def test_the_log_has_no_number_that_follows_from_the_ratings(
    blocks: StoredRatings, local: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="discreet")
    told: list[tuple[str, int, int]] = []
    ItemMean().fit(blocks, BUDGET, engine=local, progress=lambda *stage: told.append(stage))
    assert "adding up" in {stage for stage, _, _ in told}
    assert "training" in caplog.text
    assert "adding up" not in caplog.text


def test_a_worker_that_dies_every_time_ends_the_run_in_words(
    blocks: StoredRatings, local: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "RETRIES", 0)
    for path in Path(os.environ[DEATHS]).iterdir():
        path.unlink()
    with pytest.raises(Unreachable, match="Nothing was charged for this query"):
        fitted(rounds(Dying), blocks, engine=Cluster(workers=2))


def test_who_is_connected_elsewhere_is_told(blocks: StoredRatings, local: Cluster) -> None:
    with pytest.raises(SettingsInvalid, match=r"is connected to the cluster at .* already, not to"):
        ItemMean().fit(blocks, BUDGET, engine=Cluster(f"127.0.0.1:{free_port()}"))
