"""Rounds on a GPU: every user bounded and alone, sums exact, and next to the CPU's."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from discreet import Budget, BudgetedALS, kernels
from discreet.catalogue.columns import Columns
from discreet.data import prepare, synthetic
from discreet.engines.disk import DiskEngine
from discreet.engines.gpu import PER_ENTRY, PER_RATING, GpuEngine
from discreet.engines.memory import MemoryEngine
from discreet.errors import UnchargedRelease
from discreet.kernels import gpu
from discreet.methods.budgeted.private.contributions import BudgetedContributions
from discreet.methods.budgeted.private.gpu_contributions import GpuBudgetedContributions
from discreet.privacy.gaussian.blocks import SLACK
from discreet.privacy.gaussian.gpu_blocks import DeviceStatistics, device_blocks
from discreet.privacy.gaussian.totals import exact_totals

USERS = 5  # the interpreter takes a second for each


MARKET = synthetic.market(400, 40, 4_000, rng=1)


def asked(**settings: Any) -> list[Any]:
    """The queries of a run of the whole market on the CPU; a query can be put to any users."""
    queries: list[Any] = []
    ask = MemoryEngine.totals

    def noted(self: MemoryEngine, query: Any) -> Any:
        queries.append(query)
        return ask(self, query)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryEngine, "totals", noted)
        BudgetedALS(rank=2, rounds=2, **settings).fit(MARKET, Budget(20.0, 1e-3), rng=0)
    return queries


@pytest.fixture(scope="module")
def world() -> Any:
    return MARKET.take_users(slice(0, USERS))


@pytest.fixture(scope="module")
def queries() -> list[Any]:
    return asked()


@pytest.fixture(scope="module")
def blocks(world: Any, queries: list[Any], device: torch.device) -> Any:
    return GpuBudgetedContributions(world, device).contributions(queries[-1])


def integers(blocks: Any) -> dict[str, Any]:
    gradient, weight, moment = blocks
    arrays = {
        "features": gradient.features,
        "targets": gradient.targets,
        "omega": weight.omega,
        "rows": moment.rows,
    }
    return {name: array.cpu().numpy() for name, array in arrays.items()}


def test_a_round_is_the_cpus_but_for_a_grid_step(world: Any, queries: list[Any], blocks: Any) -> None:
    query = queries[-1]
    host = BudgetedContributions(world).contributions(query)
    here = {
        "features": host[0].features,
        "targets": host[0].targets,
        "omega": host[1].weights,
        "rows": host[2].features,
    }
    for name, there in integers(blocks).items():
        step = np.abs(there.astype(np.int64) - here[name]).max()
        assert step <= (256 if name == "omega" else 1), name  # omega is 14 bits finer than the others
        assert np.abs(there).max() > 100, name
    totals, wanted = exact_totals(blocks), exact_totals(host)
    for one, two in zip(totals, wanted, strict=True):
        assert one.name == two.name
        assert np.array_equal(one.unit, two.unit)
        assert np.abs(one.value - two.value).max() < 1e-3 * two.unit.min()


def test_energies_of_the_integers_are_the_cpus_and_below_the_bound(
    world: Any, queries: list[Any], blocks: Any
) -> None:
    told = [block.energies() for block in blocks]
    assert np.sum(told, axis=0).max() <= 1.0
    there = integers(blocks)
    host = BudgetedContributions(world).contributions(queries[-1])
    same = [
        replace(host[0], features=there["features"], targets=there["targets"]),
        replace(host[1], weights=there["omega"]),
        replace(host[2], features=there["rows"]),
    ]
    for mine, block in zip(told, same, strict=True):
        np.testing.assert_allclose(mine, block.energies(), rtol=1e-12)
    for one, two in zip(exact_totals(blocks), exact_totals(same), strict=True):
        assert np.array_equal(one.value, two.value), one.name


def test_other_users_do_not_move_when_one_goes(
    world: Any, queries: list[Any], blocks: Any, device: torch.device
) -> None:
    kept = np.array([4, 0, 3, 2])  # without user 1, in another order
    less = world.take_users(kept)
    entries = np.concatenate([np.arange(world.indptr[user], world.indptr[user + 1]) for user in kept])
    after = integers(GpuBudgetedContributions(less, device).contributions(queries[-1]))
    for name, before in integers(blocks).items():
        assert np.array_equal(before[entries if name == "targets" else kept], after[name]), name


class AroundTheMean(GpuBudgetedContributions):
    """Rates everything around the mean of all users: whoever comes moves what the others hand in."""

    def __init__(self, ratings: Any, device: torch.device) -> None:
        away = ratings.values - ratings.values.mean() + 3.0
        super().__init__(replace(ratings, values=np.clip(away, 1.0, 5.0)), device)


class OneTooMany(GpuBudgetedContributions):
    """Whoever is asked among few hands in the last user twice."""

    def __init__(self, ratings: Any, device: torch.device) -> None:
        users = np.arange(ratings.n_users)
        super().__init__(ratings if len(users) == USERS else ratings.take_users(users[[*users, -1]]), device)


def test_who_looks_at_others_is_stopped_before_there_is_noise(
    world: Any, queries: list[Any], device: torch.device
) -> None:
    for half, place in ((AroundTheMean, -1), (AroundTheMean, 0), (OneTooMany, -1)):
        with pytest.raises(UnchargedRelease, match="depends on who else is there"):
            GpuEngine(half, world, device, 1e9).totals(queries[place])


def test_blocks_of_users_give_the_same_bits(
    world: Any, queries: list[Any], blocks: Any, device: torch.device
) -> None:
    counts = np.diff(world.indptr)
    memory = float(PER_RATING * counts.max() + PER_ENTRY * 3) * 2.0
    engine = GpuEngine(GpuBudgetedContributions, world, device, memory)
    for one, two in zip(engine.totals(queries[-1]), exact_totals(blocks), strict=True):
        assert np.array_equal(one.value, two.value), one.name


def test_blocks_on_disk_give_the_same_bits(
    world: Any, queries: list[Any], device: torch.device, tmp_path: Path
) -> None:
    users = np.repeat(np.arange(world.n_users), np.diff(world.indptr))
    rows = {"user": users, "item": world.catalogue.ids[world.items], "rating": world.values}
    pl.DataFrame(rows).write_parquet(tmp_path / "ratings.parquet")
    blocks = prepare(
        str(tmp_path / "ratings.parquet"),
        tmp_path / "blocks",
        Columns("user", "item", "rating"),
        rating_range=world.rating_range,
        catalogue=world.catalogue,
        rules=world.rules,
        block_ratings=int(np.diff(world.indptr).max()),
    )
    assert blocks.n_blocks > 1
    on_device = partial(GpuEngine, GpuBudgetedContributions, device=device, memory=1e9)
    found = DiskEngine(BudgetedContributions, blocks, on_device).totals(queries[-1])
    for one, other in zip(found, on_device(world).totals(queries[-1]), strict=True):
        np.testing.assert_array_equal(one.value, other.value)


def test_who_exceeds_the_bound_is_left_out(blocks: Any) -> None:
    gradient, *others = blocks
    louder = gradient.features.clone()
    louder[2] = 2 * louder[2]
    without = [block.without(np.arange(USERS) == 2) for block in blocks]
    tampered = [replace(gradient, features=louder), *others]
    assert np.sum([block.energies() for block in tampered], axis=0)[2] > 1.0 + SLACK
    for one, two in zip(exact_totals(tampered), exact_totals(without), strict=True):
        assert np.array_equal(one.value, two.value), one.name


def test_a_user_with_numbers_that_are_none_counts_with_weights_alone(
    world: Any, queries: list[Any], device: torch.device
) -> None:
    query, csr = queries[-1], gpu.Csr.upload(world.indptr, world.items, world.n_items, device)
    order = len(query.frame.whiten)
    features = torch.ones((USERS, order), dtype=torch.float64, device=device)
    features[1, 0] = torch.nan
    residuals = torch.ones(world.n_ratings, dtype=torch.float64, device=device)
    residuals[world.indptr[3]] = torch.inf
    sums = torch.ones((USERS, 3), dtype=torch.float64, device=device)
    sums[3, :2] = torch.inf
    ones = torch.ones(USERS, dtype=torch.float64, device=device)
    blocks = device_blocks(query.mechanism, DeviceStatistics(csr, features, residuals, sums, ones, ones))
    found = integers(blocks)
    owner = np.repeat(np.arange(USERS), np.diff(world.indptr))
    for user in (1, 3):
        assert not found["features"][user].any()
        assert not found["rows"][user].any()
        assert not found["targets"][owner == user].any()
        assert found["omega"][user] > 0
    assert found["targets"][owner == 0].all()
    assert np.isfinite(np.sum([block.energies() for block in blocks], axis=0)).all()


def test_sums_of_the_same_integers_are_exact(world: Any, device: torch.device) -> None:
    rng = np.random.default_rng(3)
    features = rng.integers(-(2**14), 2**14 + 1, (USERS, 3)).astype(np.int16)
    targets = rng.integers(-(2**15) + 1, 2**15, world.n_ratings).astype(np.int16)
    omega = rng.integers(0, 2**28, USERS).astype(np.int32)
    csr = gpu.Csr.upload(world.indptr, world.items, world.n_items, device)
    turned = kernels.transpose(world.indptr, world.items, world.n_items)
    there = [torch.as_tensor(array).to(device) for array in (features, targets, omega)]
    sums = gpu.item_sums(csr, there[0], there[1]).cpu().numpy()
    assert np.array_equal(sums, kernels.item_sums(*turned, features, targets))
    weights = gpu.item_weights(csr, there[2]).cpu().numpy()
    assert np.array_equal(weights, kernels.item_weights(*turned[:2], omega))
    moments = gpu.item_moments(csr, there[0]).cpu().numpy()
    assert np.array_equal(moments, kernels.item_moments(*turned[:2], features))
    assert np.array_equal(gpu.user_moment(there[0]).cpu().numpy(), kernels.user_moment(features))
