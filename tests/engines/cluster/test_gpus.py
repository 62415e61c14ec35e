"""A cluster whose workers have GPUs: one each, all of one kind, and one GPU's sums. By ``make ray``.

Ray is told that there are two GPUs. Where there is none in truth, the kernels run in Triton's interpreter, on the CPU.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

pytest.importorskip("ray", reason="the extra ray is not installed; make ray installs it and runs these")

import numpy as np
import ray

from discreet import Budget, BudgetedALS
from discreet.data import StoredRatings
from discreet.engines import ray as engine_module
from discreet.engines.cluster import Cluster
from discreet.engines.disk import DiskEngine
from discreet.engines.gpu import Gpu
from discreet.engines.ray import RayEngine
from discreet.errors import SettingsInvalid, Unreachable
from discreet.methods.budgeted.private.contributions import BudgetedContributions
from tests.engines.cluster.cards import Odd
from tests.engines.cluster.nodes import STORE
from tests.engines.tables import stored, table

HALF = "discreet.methods.budgeted.private.gpu_contributions:GpuBudgetedContributions"
MISSING = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
BUDGET = Budget(500.0, 1e-6)


def a_gpu_is_there() -> bool:
    if MISSING:
        return False
    import torch

    return bool(torch.cuda.is_available())


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> StoredRatings:
    folder = tmp_path_factory.mktemp("table")
    table(rows=40, users=6).write_parquet(folder / "ratings.parquet")
    return stored(folder / "ratings.parquet", folder / "blocks", block_ratings=4)


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with TemporaryDirectory(prefix="ray-") as folder, pytest.MonkeyPatch.context() as patch:
        if not a_gpu_is_there():
            patch.setenv("TRITON_INTERPRET", "1")  # read where kernels are defined, on the nodes too
        patch.setenv("RAY_AUTH_TOKEN", os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32))
        ray.init(
            address="local",
            num_cpus=2,
            num_gpus=2,
            object_store_memory=STORE,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _temp_dir=folder,
        )
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def query(blocks: StoredRatings) -> Any:
    """The last of a run."""
    asked: list[Any] = []
    totals = DiskEngine.totals

    def noted(self: DiskEngine, query: Any) -> Any:
        asked.append(query)
        return totals(self, query)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DiskEngine, "totals", noted)
        BudgetedALS(rank=2, rounds=1).fit(blocks, BUDGET, rng=0)
    return asked[-1]


@pytest.mark.skipif(bool(MISSING), reason=f"{' and '.join(MISSING)} not installed (extra gpu)")
def test_every_gpu_answers_for_its_users_and_the_sums_are_those_of_one(
    blocks: StoredRatings, query: Any
) -> None:
    gpu = Gpu(HALF) if a_gpu_is_there() else Gpu(HALF, "cpu", 1e9)
    engine = RayEngine(BudgetedContributions, blocks, workers=5, gpu=gpu)
    assert len(engine._workers) == 2
    wanted = DiskEngine(BudgetedContributions, blocks, gpu.engine).totals(query)
    for one, other in zip(engine.totals(query), wanted, strict=True):
        np.testing.assert_array_equal(one.value, other.value)


@pytest.mark.skipif(a_gpu_is_there(), reason="there is a GPU here")
def test_a_node_without_the_gpu_that_it_announces_says_so_and_nothing_is_charged(
    blocks: StoredRatings, tmp_path: Path
) -> None:
    with pytest.raises(SettingsInvalid, match=r"on node .*(needs torch|finds no GPU)"):
        BudgetedALS(rank=2).fit(blocks, BUDGET, device="cuda", engine=Cluster(), checkpoint=tmp_path / "kept")


def test_gpus_of_several_kinds_are_refused(blocks: StoredRatings) -> None:
    with pytest.raises(SettingsInvalid, match="of several kinds"):
        RayEngine(BudgetedContributions, blocks, gpu=Odd(HALF))


def test_a_gpu_of_another_kind_in_place_of_one_that_is_lost_is_refused(
    blocks: StoredRatings, query: Any
) -> None:
    engine = RayEngine(BudgetedContributions, blocks, workers=1, gpu=Odd(HALF))
    engine._card = ("the one before",)
    with pytest.raises(SettingsInvalid, match="another kind of GPU"):
        engine.totals(query)


def test_gpus_that_others_hold_are_not_waited_for_without_end(
    blocks: StoredRatings, monkeypatch: pytest.MonkeyPatch
) -> None:
    @ray.remote(num_gpus=2, num_cpus=0)
    class Other:
        def here(self) -> bool:
            return True

    other = Other.remote()
    assert ray.get(other.here.remote())
    monkeypatch.setattr(engine_module, "GPU_PATIENCE", 2.0)
    with pytest.raises(Unreachable, match="GPUs of the cluster were not free"):
        RayEngine(BudgetedContributions, blocks, gpu=Odd(HALF))
    ray.kill(other)


def test_one_gpu_of_several_is_nothing_to_choose_on_a_cluster(blocks: StoredRatings) -> None:
    with pytest.raises(SettingsInvalid, match="give cuda, not cuda:1"):
        BudgetedALS().fit(blocks, BUDGET, device="cuda:1", engine="ray")
