"""What people install holds the package and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names of the files in a wheel built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        return archive.namelist()


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
    device = {"discreet-device.js", "page.html"}
    assert {f"discreet/devices/device/javascript/{name}" for name in device} <= set(names)
