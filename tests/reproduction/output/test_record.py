"""The record and picture of a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from discreet.errors import SettingsInvalid
from reproduction import Context, Experiment, Finished, Table, perform
from reproduction.output.record import as_record, read_all, write
from tests.reproduction.made_up import CONTEXT, run


def test_the_record_and_its_pictures_are_all_that_is_written(finished: Finished, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    files = write(finished, folder)
    names = ("figure-2.svg", "figure-2-more.svg", "figure-2.json")
    assert files == [folder / name for name in names]
    assert set(folder.iterdir()) == set(files)
    record = json.loads(files[-1].read_text())
    assert (record["size"], record["seed"], record["draws"]) == ("full", 4, 3)
    assert [finding["agrees"] for finding in record["findings"]] == [True, False, None]
    assert record["tables"][0]["rows"] == [{"epsilon": 1.0, "RMSE": 0.9}, {"epsilon": 2.0, "RMSE": None}]


def test_a_record_read_again_holds_what_was_written(finished: Finished, tmp_path: Path) -> None:
    write(finished, tmp_path)
    (record,) = read_all(tmp_path)
    assert record == as_record(finished)
    for read, written in zip(record["tables"], finished.result.tables, strict=True):
        assert Table.from_dict(read).to_markdown() == written.to_markdown()


def test_an_interrupted_write_leaves_no_old_record(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(finished, tmp_path)
    whole = Path.write_bytes

    def full_disk(path: Path, content: bytes) -> int:
        if path.suffix == ".svg":
            raise OSError("full")
        return whole(path, content)

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="full"):
        write(finished, tmp_path)
    assert not (tmp_path / "figure-2.json").exists()


def test_without_matplotlib_the_extra_is_named_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    started: list[Context] = []
    late = Experiment("a", "", "", "", "", lambda c: (started.append(c), run(c))[1])
    with pytest.raises(SettingsInvalid, match=r"discreet\[plots\]"):
        perform(late, CONTEXT)
    assert started == []
