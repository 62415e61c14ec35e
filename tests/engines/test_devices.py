"""Choosing a device: words where it is not there, and blocks of users that fit on it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from discreet import DPALS, Budget, BudgetedALS
from discreet.cli import main
from discreet.data import synthetic
from discreet.engines.gpu import MOST_RATINGS, PER_ENTRY, PER_RATING, check_device, cut
from discreet.errors import SettingsInvalid


def test_an_unknown_device_is_refused_before_anything_is_spent() -> None:
    world = synthetic.market(60, 30, 400, rng=0)
    with pytest.raises(SettingsInvalid, match="no device 'gpu'; use cpu, cuda"):
        BudgetedALS(rank=1, rounds=1).fit(world, Budget(1.0, 1e-3), device="gpu")
    with pytest.raises(SettingsInvalid, match="no device 'cuda:x'"):
        check_device("cuda:x", "budgeted", BudgetedALS.gpu_half)


def test_a_method_without_gpu_kernels_says_so() -> None:
    with pytest.raises(SettingsInvalid, match="the method dpals has no GPU kernels"):
        check_device("cuda", "dpals", DPALS.gpu_half)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in ("torch", "triton") else find(name)
    )
    with pytest.raises(
        SettingsInvalid, match=r"needs torch and triton: install them with pip install 'discreet\[gpu\]'"
    ):
        check_device("cuda", "budgeted", BudgetedALS.gpu_half)


def test_where_a_gpu_half_is_said_to_be_there_is_one() -> None:
    assert BudgetedALS.gpu_half is not None
    room, _, name = BudgetedALS.gpu_half.partition(":")
    found = importlib.util.find_spec(room)
    assert found is not None
    assert found.origin is not None
    assert f"class {name}:" in Path(found.origin).read_text()


def test_the_command_line_refuses_in_words(tmp_path: Path) -> None:
    given = ["train", "none.csv", "--user", "u", "--item", "i", "--catalogue", "none.csv", "--epsilon", "1"]
    given += ["--delta", "1e-6", "--out", str(tmp_path / "model")]
    for more, words in (
        (["--device", "tpu"], "no device 'tpu'"),
        (["--device", "cuda", "--method", "dpals"], "the method dpals has no GPU kernels"),
    ):
        result = CliRunner().invoke(main, [*given, *more])
        assert result.exit_code == 2, result.output
        assert words in " ".join(result.output.split())


@pytest.mark.parametrize("memory", [0.0, 5_000.0, 20_000.0, 1e9])
def test_blocks_cover_all_users_once_and_fit(memory: float) -> None:
    counts = np.random.default_rng(0).integers(0, 60, 50)
    counts[[7, 8]] = 0
    indptr = np.concatenate([[0], np.cumsum(counts)])
    blocks = cut(indptr, 9, memory)
    assert [user for block in blocks for user in range(block.start, block.stop)] == list(range(50))
    need: Any = [
        PER_RATING * counts[block].sum() + PER_ENTRY * 9 * (block.stop - block.start) for block in blocks
    ]
    assert all(
        bytes_ <= memory or block.stop - block.start == 1 for bytes_, block in zip(need, blocks, strict=True)
    )
    assert (len(blocks) == 1) == (sum(need) <= memory)


def test_a_block_never_has_more_ratings_than_positions_can_name() -> None:
    indptr = np.array([0, MOST_RATINGS - 5, MOST_RATINGS, MOST_RATINGS + 7], np.int64)
    assert cut(indptr, 1, 1e15) == [slice(0, 2), slice(2, 3)]
