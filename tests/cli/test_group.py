"""What all commands have in common: help, completion, errors, output, and that they start at once."""

from __future__ import annotations

import ctypes
import errno
import io
import json
import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from discreet.cli import main, recommend
from discreet.cli.group import check_interrupt, listening
from discreet.cli.options import read_settings
from discreet.cli.output import print_json, progress_bar
from tests.cli.conftest import Run


def leaves(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        found = group.get_command(ctx, name)
        if isinstance(found, click.Group):
            yield from leaves(found, *path, name)
        else:
            yield (*path, name)


@pytest.mark.parametrize("path", list(leaves(main)), ids=" ".join)
def test_every_command_has_help_with_an_example_of_itself(run: Run, path: tuple[str, ...]) -> None:
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert f"  discreet {' '.join(path)}" in result.stdout
    assert "--json" in result.stdout


def failing(error: BaseException) -> Callable[..., None]:
    def load(path: str) -> None:
        raise error

    return load


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "model/x"),
            2,
            "No space left on device: model/x. Make room",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "secret"), 2, "Permission denied: secret."),
        (
            KeyboardInterrupt(),
            130,
            "Interrupted; no model was written. What a ledger or a store has charged stays charged.",
        ),
    ],
)
def test_errors_become_messages_and_exit_codes(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    monkeypatch.setattr(recommend.Model, "load", failing(error))
    result = run("similar", "model", "--item", "1", "--json")
    assert result.exit_code == code
    assert result.stdout == ""
    assert message in result.stderr


def test_a_bug_of_ours_is_not_hidden(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommend.Model, "load", failing(ZeroDivisionError("ours")))
    with pytest.raises(ZeroDivisionError):
        run("similar", "model", "--item", "1")


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


@pytest.mark.slow
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


PROGRAM = "import sys; from discreet.cli import main; main(prog_name='discreet')"


def completed(words: str, position: int) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ
        | {"_DISCREET_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(position)},
        capture_output=True,
        text=True,
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "position", "found"),
    [
        ("discreet train --repeats ", 3, {"last", "first", "error"}),
        ("discreet export ", 2, {"web", "table", "card"}),
    ],
)
def test_words_are_completed(words: str, position: int, found: set[str]) -> None:
    assert set(completed(words, position)) == found


def test_numbers_that_do_not_exist_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": math.nan, "b": [{"c": math.inf}, 1.5], "d": "Rényi"})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [{"c": None}, 1.5], "d": "Rényi"}


def test_progress_is_silent_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with progress_bar() as report:
        report("training", 1, 2)
    assert shown.getvalue() == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".05", 0.05),
        ("5.", 5.0),
        ("+2", 2.0),
        ("1e-3", 0.001),
        ("3", 3),
        ("true", True),
        ("auto", "auto"),
        ("1.2.3", "1.2.3"),
        ("nan", "nan"),
        ("", ""),
    ],
)
def test_numbers_are_numbers_as_people_write_them_and_the_rest_is_text(text: str, value: Any) -> None:
    read = read_settings([f"penalty={text}"])["penalty"]
    assert read == value
    assert type(read) is type(value)


quiet = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@ctypes.CFUNCTYPE(None)
def typed_meanwhile() -> None:
    signal.raise_signal(signal.SIGINT)


@quiet
def test_the_next_report_of_progress_raises_it() -> None:
    with listening(), progress_bar() as report:
        report("training", 0, 2)
        typed_meanwhile()
        with pytest.raises(KeyboardInterrupt):
            report("training", 1, 2)
    check_interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@quiet
def test_nothing_is_said_of_what_was_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda dropped: said.append(dropped.exc_type))
    with listening(), progress_bar() as report:
        typed_meanwhile()
        with pytest.raises(KeyboardInterrupt):
            report("training", 1, 2)
    assert said == []
    typed_meanwhile()
    assert said == [KeyboardInterrupt]


@quiet
def test_who_listens_already_is_left_alone() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda *told: heard.append(told))
    try:
        with listening():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(heard) == 1
