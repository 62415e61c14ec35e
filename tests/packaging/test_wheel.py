"""What people install holds the package and nothing else."""

from __future__ import annotations

import email
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    """Names of the files in it."""
    with ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of an environment that has the wheel, and this one's packages in place of a download."""
    place = tmp_path_factory.mktemp("clean") / "environment"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    done = subprocess.run([*pip, str(wheel)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (packages,) = place.glob("lib/python*/site-packages")
    # A path alone: what is installed there as editable stays out.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def run_there(command: list[str], folder: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def test_the_wheel_works_outside_the_clone(installed: Path, tmp_path: Path) -> None:
    where = run_there(
        [str(installed / "python"), "-c", "import discreet; print(discreet.__file__)"], tmp_path
    )
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert "Recommendations that keep a secret" in run_there(
        [str(installed / "discreet"), "--help"], tmp_path
    )


@pytest.mark.slow  # all kernels are compiled anew there
@pytest.mark.timeout(1800)
def test_the_readme_can_be_followed_outside_the_clone(installed: Path, tmp_path: Path) -> None:
    python, discreet = str(installed / "python"), str(installed / "discreet")
    readme = (ROOT / "README.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert "one user, with all of that user's ratings" in run_there([python, "-c", block], tmp_path)
    assert (tmp_path / "model" / "manifest.json").exists()
    own = tmp_path / "own"
    own.mkdir()
    run_there([discreet, "sample", "--out", ".", "--users", "400"], own)
    lines = re.findall(r"^    discreet (train|recommend) (.*)$", readme.replace("\\\n", " "), re.MULTILINE)
    assert [name for name, _ in lines[:2]] == ["train", "recommend"]
    shown = [run_there([discreet, name, *shlex.split(words)], own) for name, words in lines[:2]]
    assert " 10. " in shown[1] or "10" in shown[1]


def test_the_metadata_is_complete(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        told = email.message_from_bytes(archive.read(name))
    assert told["Name"] == "discreet"
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert told["Description-Content-Type"] == "text/markdown"
    assert told.get_payload().startswith("# discreet")
    assert len(told["Keywords"].split(",")) >= 3
    kinds = {one.partition(" :: ")[0] for one in told.get_all("Classifier")}
    assert kinds >= {
        "Development Status",
        "Intended Audience",
        "Operating System",
        "Programming Language",
        "Topic",
    }
    extras = set(told.get_all("Provides-Extra"))
    assert {"frames", "sql", "sklearn", "lenskit", "rectools", "serve"} <= extras


def test_the_wheel_holds_the_package_alone(names: list[str]) -> None:
    rooms = {Path(name).parts[0] for name in names}
    (described,) = rooms - {"discreet"}
    assert described.startswith("discreet-")
    assert described.endswith(".dist-info")


def test_experiments_and_tests_stay_out_of_the_wheel(names: list[str]) -> None:
    assert not {"experiments", "reproduction", "results", "tests"} & {
        part for name in names for part in Path(name).parts
    }


def test_every_module_is_in_the_wheel(names: list[str]) -> None:
    source = ROOT / "src"
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    assert {"discreet/py.typed", "discreet/statements/page.css"} <= set(names)
    assert "discreet/devices/device/javascript/discreet-device.js" in names
