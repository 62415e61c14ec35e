"""The device as one file: a zipapp, built from this checkout and run without anything else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from discreet.devices.package import write_zipapp
from tests.devices.support.running import Running


def alone(*words: str) -> subprocess.CompletedProcess[str]:
    """Python without site packages and without the environment."""
    command = [sys.executable, "-S", "-I", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, cwd="/")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("built")


def test_the_zipapp_is_a_whole_device(folder: Path, tmp_path: Path) -> None:
    app, file = str(write_zipapp(folder)), str(tmp_path / "me.sqlite")
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("0,5\n3,1\n7,4.5\n")

    def run(*words: str) -> dict[str, object]:
        done = alone(app, "--file", file, *words)
        assert done.returncode == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found

    assert run("rate", str(ratings)) == {"ratings": 3}
    with Running(tmp_path / "s.sqlite") as server:
        server.create(minimum=1)
        run("join", server.url, "films", "--epsilon", "4")
        said = run("answer", server.url, "films", "--pace", "0")
        assert said["result"] in ("answered", "not asked")
        assert len(server.kept(1)) == (said["result"] == "answered")
    assert run("transcript")["ratings"] == 3
    refused = alone(app, "--file", file, "recommend", "films")
    assert (refused.returncode, "Error: nothing has been released" in refused.stderr) == (2, True)


def test_it_holds_the_folder_and_nothing_else_and_the_same_sources_give_the_same_bytes(
    folder: Path, tmp_path: Path
) -> None:
    built = write_zipapp(folder)
    with ZipFile(built) as archive:
        files = {name for name in archive.namelist() if name.startswith("discreet_device/")}
        assert set(archive.namelist()) - files == {"__main__.py"}
    assert {"discreet_device/answer.py", "discreet_device/client.py"} <= files
    assert not [name for name in files if "__pycache__" in name]
    assert built.read_bytes() == write_zipapp(tmp_path).read_bytes()
