"""The public half on a GPU: the CPU's bits, or the CPU."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from discreet import Budget, BudgetedALS, kernels
from discreet.data import synthetic
from discreet.kernels import placement
from discreet.kernels.gpu import placed as where
from discreet.kernels.gpu.placed import Placed, different, same_bits
from discreet.kernels.registers import _EXTENSIONS, X86
from discreet.methods import method
from discreet.methods.conversation import converse
from discreet.privacy.gaussian.noise import Noise

FUSES = not X86 or "+fma" in _EXTENSIONS
SIZES = [(1, 1), (70, 5), (40, 37), (300, 3)]
LARGE = [(26_700, 33), (26_700, 129), (513, 256)]  # a card's only: the interpreter takes too long


@pytest.fixture
def there(device: torch.device) -> Placed:
    return Placed(device)


@pytest.mark.skipif(not FUSES, reason="this processor has no fused operations")
@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize(("n", "d"), SIZES + (LARGE if torch.cuda.is_available() else []))
def test_every_kernel_has_the_cpus_bits(there: Placed, n: int, d: int) -> None:
    assert not {name: told for name, told in different(there, n, d).items() if told != (0, 0)}


def test_kernels_agree_to_rounding_without_fused_operations(there: Placed) -> None:
    rng = np.random.default_rng(1)
    rows, matrix, weights = (
        rng.standard_normal((90, 7)),
        rng.standard_normal((4, 7)),
        rng.exponential(size=90),
    )
    np.testing.assert_allclose(
        there.transform_rows(rows, matrix, None, None), rows @ matrix.T, rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(
        there.weighted_moment(rows, weights), (rows * weights[:, None]).T @ rows, rtol=1e-10, atol=1e-12
    )


def test_nobody_and_nothing(there: Placed) -> None:
    assert there.transform_rows(np.zeros((0, 3)), np.ones((2, 3)), None, None).shape == (0, 2)
    assert there.transform_rows(np.ones((3, 0)), np.ones((2, 0)), None, None).tolist() == [[0.0, 0.0]] * 3
    assert there.weighted_moment(np.zeros((0, 2)), np.zeros(0)).tolist() == [[0.0, 0.0]] * 2
    empty = there.shrink_rows(np.zeros((0, 2)), np.eye(2), np.ones(2), np.ones(0), np.ones(0), None)
    assert [part.shape for part in empty] == [(0, 2), (0,)]


def test_what_cannot_be_written_to_is_kept_as_long_as_it_lives(there: Placed) -> None:
    rows = np.ones((5, 3))
    assert there.tensor(rows) is not there.tensor(rows)
    rows.setflags(write=False)
    assert there.tensor(rows) is there.tensor(rows)
    view = np.ones((5, 3))[:]
    view.setflags(write=False)  # its array can be written to
    assert there.tensor(view) is not there.tensor(view)
    found = there.transform_rows(rows, np.eye(3), None, None)
    assert not found.flags.writeable
    assert there.tensor(found) is there.tensor(found)
    assert len(there._kept) == 2
    del rows, found
    gc.collect()
    assert not there._kept


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch, there: Placed) -> list[str]:
    """The kernels that a device was asked for, where it is the one at hand and nothing is too small for it."""
    asked: list[str] = []

    class Watched(Placed):
        def __getattribute__(self, name: str) -> Any:
            if name.endswith(("_rows", "_moment")):
                asked.append(name)
            return super().__getattribute__(name)

    watched = Watched(there._device)
    monkeypatch.setattr(placement, "WORTH", 1)
    monkeypatch.setattr(where, "placed_on", lambda device: watched)
    return asked


def fit(patch: pytest.MonkeyPatch, device: str, **settings: Any) -> Any:
    """A model whose users are on the CPU and whose public half is on a device."""
    world = synthetic.market(300, 40, 3_000, rng=1)

    def on_device(*given: Any) -> Any:
        return partial(converse, device=device)(*given[:-1])

    with patch.context() as patched:
        patched.setattr(method, "converse", on_device)
        fitted = BudgetedALS(rank=2, rounds=3, **settings).fit(
            world, Budget(20.0, 1e-3), rng=0, noise=Noise.fixed_key_not_private("rows")
        )
    return fitted.model_.item_side


@pytest.mark.skipif(not FUSES, reason="this processor has no fused operations")
@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("goal", ["rate", "rank"])
def test_a_run_has_the_same_bits_wherever_its_public_half_is(
    monkeypatch: pytest.MonkeyPatch, used: list[str], goal: str
) -> None:
    monkeypatch.setattr(where, "same_bits", lambda there: True)
    there = fit(monkeypatch, "cuda", goal=goal)
    assert {"transform_rows", "weighted_moment", "shrink_rows"} <= set(used)
    used.clear()
    here = fit(monkeypatch, "cpu", goal=goal)
    assert not used
    np.testing.assert_array_equal(there.factors, here.factors)
    np.testing.assert_array_equal(there.offsets, here.offsets)
    np.testing.assert_array_equal(there.popularity, here.popularity)
    assert there.factors.flags.writeable


def test_a_device_that_rounds_differently_is_not_used(
    monkeypatch: pytest.MonkeyPatch, used: list[str]
) -> None:
    rows = np.random.default_rng(2).standard_normal((50, 4))
    monkeypatch.setattr(where, "same_bits", lambda there: False)
    with kernels.rows_on("cuda"):
        kernels.transform_rows(rows, np.eye(4))
        kernels.weighted_moment(rows, np.ones(50))
        kernels.shrink_rows(rows, np.eye(4), np.ones(4), np.ones(50), np.ones(50))
    assert not used


def test_a_device_is_tried_before_it_is_used(there: Placed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        where.device_rows, "weighted_moment", lambda rows, roots: rows.T @ rows * (1.0 + 2.0**-52)
    )
    assert different(there, 60, 5)["weighted moment"][0] > 0
    assert not same_bits(there)


def test_small_work_stays_on_the_cpu(used: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "WORTH", 1_000)
    monkeypatch.setattr(where, "same_bits", lambda there: True)
    with kernels.rows_on("cuda"):
        kernels.transform_rows(np.ones((10, 4)), np.eye(4))
    assert not used
