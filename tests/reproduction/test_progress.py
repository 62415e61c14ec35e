"""Going on after an interruption, by the same code and in the same circumstances only."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction import progress
from reproduction.progress import Progress


def test_parts_survive_in_their_file(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "x.unfinished"
    first = Progress(file, {"seed": 1})
    assert first.once("a", lambda: {"values": [0.1, 1e-17], "settings": {"rank": 3}}) == {
        "values": [0.1, 1e-17],
        "settings": {"rank": 3},
    }
    again = Progress(file, {"seed": 1})
    assert again.once("a", pytest.fail) == first.once("a", pytest.fail)
    again.finished()
    assert not file.exists()


def test_other_circumstances_or_other_code_start_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x"
    Progress(file, {"seed": 1}).once("a", lambda: 1)
    assert Progress(file, {"seed": 1}).once("a", lambda: 2) == 1
    assert Progress(file, {"seed": 2}).once("a", lambda: 2) == 2
    monkeypatch.setattr(progress, "code", lambda: "another")
    assert Progress(file, {"seed": 2}).once("a", lambda: 3) == 3


def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    file = tmp_path / "x"
    kept = Progress(file)
    kept.once("a", lambda: 1)
    kept.once("b", lambda: 2)
    file.write_text(file.read_text()[:-4])
    cut = Progress(file)
    assert cut.once("a", lambda: 5) == 1
    assert cut.once("b", lambda: 6) == 6
    assert Progress(file).once("b", lambda: 7) == 6
