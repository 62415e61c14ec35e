"""Preparation out of core: what it holds does not grow with the table, and it goes on after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.data.stored import Manifest
from discreet.errors import CatalogueInvalid
from discreet.methods.checks import MOST_ITEMS, check_items
from tests.engines.limited import MOMENTS, prepared, write

ROOT = Path(__file__).parents[2]


def child(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.engines.limited", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_a_table_that_is_prepared_is_never_held(tmp_path: Path) -> None:
    """A partitioned folder of 1.5 million rows in runs of 40,000, beside reading it whole."""
    assert child("write", tmp_path, 1_500_000).returncode == 0
    done = child("hold", tmp_path)
    assert done.returncode == 0, done.stderr
    held = json.loads(done.stdout)
    assert held["read whole"] > held["prepared"] + 30, held


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_preparation_that_was_killed_ends_in_the_same_blocks(moment: str, tmp_path: Path) -> None:
    write(tmp_path, 3_000)
    assert child("kill", tmp_path, moment).returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "manifest.json").exists()
    prepared(tmp_path, "text files", "killed", 700)
    prepared(tmp_path, "text files", "whole", 700)
    assert Manifest.read(tmp_path / "killed") == Manifest.read(tmp_path / "whole")
    names = [sorted(file.name for file in (tmp_path / name).iterdir()) for name in ("killed", "whole")]
    assert names[0] == names[1]


def test_more_items_than_have_a_number_are_refused() -> None:
    check_items(MOST_ITEMS)
    with pytest.raises(CatalogueInvalid, match="31 bits"):
        check_items(MOST_ITEMS + 1)
