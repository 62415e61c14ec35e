"""The first thing people type answers at once."""

from __future__ import annotations

import importlib
import resource
import subprocess
import sys

import pytest

from discreet.cli.group import COMMANDS

HEAVY = ("numba", "polars", "numpy", "pydantic", "scipy")


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_load_nothing_heavy_and_take_no_time(option: str) -> None:
    code = (
        "import sys\nfrom discreet.cli.group import main\n"
        f"main([{option!r}], prog_name='discreet', standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stderr.strip() == "[]"
    assert "discreet" in done.stdout
    # CPU time of the process, not of the clock: a busy machine does not change it much.
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert seconds < 0.3 * 2, "0.3 s on a quiet machine; twice that where caches are shared with others"


def test_the_package_is_imported_in_no_time() -> None:
    code = (
        "import sys, time\nbegan = time.process_time()\nimport discreet\n"
        f"print(time.process_time() - began, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, _, loaded = done.stdout.partition(" ")
    assert loaded.strip() == "[]"
    assert float(seconds) < 0.5


def test_a_second_start_compiles_nothing() -> None:
    code = (
        "from numba.core.event import install_recorder\n"
        "from discreet import Budget, BudgetedALS\n"
        "from discreet.data.synthetic import market\n"
        "with install_recorder('numba:compile') as compiled:\n"
        "    ratings = market(50, 20, 300, rng=0)\n"
        "    BudgetedALS(rank=2, rounds=2).fit(ratings, Budget(20.0, 1e-6), rng=0).model_.recommend({}, 3)\n"
        "print(len(compiled.buffer))"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


@pytest.mark.parametrize("name", COMMANDS)
def test_what_help_says_of_a_command_is_what_the_command_says(name: str) -> None:
    command = importlib.import_module(f"discreet.cli.{name.replace('-', '_')}").command
    assert command.get_short_help_str(200) == COMMANDS[name]
