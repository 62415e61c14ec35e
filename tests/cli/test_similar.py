"""``discreet similar``."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.model import Model
from tests.cli.conftest import Run


def test_the_same_as_in_python(run: Run, implicit_model: Path) -> None:
    content = json.loads(run("similar", implicit_model, "--item", "30", "-n", "4", "--json").stdout)
    found = Model.load(implicit_model).similar(30, 4)
    assert content == {"item": "30", **found.to_dict()}


def test_the_table_has_titles(run: Run, explicit_model: Path) -> None:
    text = run("similar", explicit_model, "--item", "item-1", "-n", "11").stdout
    assert "Third of its kind" in text
    assert "similarity" in text


def test_what_is_not_known_is_said(run: Run, doubtful_model: Path) -> None:
    sure = run("similar", doubtful_model, "--item", "item-4", "-n", "11")
    assert "unknown: next to nothing is known about this item." in sure.stdout
    assert sum("│ unknown" in line for line in sure.stdout.splitlines()) == 1
    assert "item-4:" not in sure.stdout
    warned = run("similar", doubtful_model, "--item", "item-5")
    assert "Next to nothing is known about 'item-5'" in warned.stdout
    silent = run("similar", doubtful_model, "--item", "item-5", "--json")
    assert json.loads(silent.stdout)["item"] == "item-5"
    assert "Next to nothing is known about 'item-5'" in silent.stderr
    assert run("similar", doubtful_model, "--item", "item-4", "--json").stderr == ""


def test_no_marks_without_a_reason(run: Run, explicit_model: Path) -> None:
    assert "mark" not in run("similar", explicit_model, "--item", "item-1").stdout
