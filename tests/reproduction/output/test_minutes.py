"""Minutes are measured, never typed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.errors import SettingsInvalid
from reproduction import Finished
from reproduction.output import minutes
from reproduction.output.record import write


def test_a_record_and_the_file_beside_it_say_how_long_it_took(finished: Finished, tmp_path: Path) -> None:
    name = finished.experiment.name
    assert minutes.measured([name], tmp_path) == {name: {}}
    write(replace(finished, seconds=150.0), tmp_path)
    minutes.note(replace(finished, size="quick", seconds=12.0), tmp_path / minutes.FILE)
    minutes.note(replace(finished, size="full", seconds=9e9), tmp_path / minutes.FILE)
    found = minutes.measured([name], tmp_path)[name]
    assert found["full"].minutes == 2.5  # the record goes before
    assert found["quick"].minutes == 0.2
    assert found["full"].cores == json.loads((tmp_path / f"{name}.json").read_text())["cores"]


def test_a_broken_file_is_named(finished: Finished, tmp_path: Path) -> None:
    (tmp_path / minutes.FILE).write_text("{")
    with pytest.raises(SettingsInvalid, match=r"minutes\.json is not valid JSON"):
        minutes.note(finished, tmp_path / minutes.FILE)
