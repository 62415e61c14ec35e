"""What commands print."""

from __future__ import annotations

import io
import json
import math
import sys

import pytest

from discreet.cli.output import print_json, progress_bar


def test_numbers_that_do_not_exist_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": math.nan, "b": [{"c": math.inf}, 1.5], "d": "Rényi"})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [{"c": None}, 1.5], "d": "Rényi"}


def test_progress_is_silent_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with progress_bar() as report:
        report("training", 1, 2)
    assert shown.getvalue() == ""
