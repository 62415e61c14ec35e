"""What all commands have in common."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable

import pytest

from discreet.cli import similar
from discreet.cli.group import COMMANDS
from tests.cli.conftest import Run

GROUPS = ("federate", "collect", "ledger", "export")
INNER = (
    *("federate simulate", "federate agree", "collect simulate", "collect serve", "collect task create"),
    *("ledger show", "ledger plan", "ledger cap", "ledger verify", "export web"),
)


@pytest.mark.parametrize("name", [*(name for name in COMMANDS if name not in GROUPS), *INNER])
def test_every_command_has_help_with_an_example(run: Run, name: str) -> None:
    result = run(*name.split(), "--help")
    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert f"discreet {name}" in result.stdout
    assert "--json" in result.stdout


def test_the_list_names_every_command(run: Run) -> None:
    result = run("--help")
    for name in COMMANDS:
        assert f"  {name} " in result.stdout


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
    monkeypatch.setattr(similar.Model, "load", failing(error))
    result = run("similar", "model", "--item", "1", "--json")
    assert result.exit_code == code
    assert result.stdout == ""
    assert message in result.stderr


def test_a_bug_of_ours_is_not_hidden(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar.Model, "load", failing(ZeroDivisionError("ours")))
    with pytest.raises(ZeroDivisionError):
        run("similar", "model", "--item", "1")


@pytest.mark.parametrize("command", [["-m", "discreet"], ["-c", "from discreet.cli import main; main()"]])
def test_as_a_process(command: list[str]) -> None:
    arguments = ["similar", "no-such-model", "--item", "1", "--json"]
    done = subprocess.run([sys.executable, *command, *arguments], capture_output=True, text=True, timeout=240)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: there is no model no-such-model")
    assert "Traceback" not in done.stderr
