"""Completion in the shell, as docs/ecosystem.md says to turn it on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

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
        ("discreet s", 1, {"sample", "serve", "similar", "split", "statement"}),
        ("discreet train --rep", 2, {"--repeats"}),
        ("discreet train --repeats ", 3, {"last", "first", "error"}),
        ("discreet export ", 2, {"web", "arrays", "table", "card"}),
    ],
)
def test_words_are_completed(words: str, position: int, found: set[str]) -> None:
    assert set(completed(words, position)) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(shell: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"_DISCREET_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
    )
    assert f"_DISCREET_COMPLETE={shell}_complete" in done.stdout
