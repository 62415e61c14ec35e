"""Who may touch what is kept by folder: the next file of a room is held to it without anybody thinking of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTRACTS = {
    contract["id"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}


def folders(pattern: str) -> list[Path]:
    """Packages that a dotted pattern of the contracts names."""
    found = (ROOT / "src").glob(pattern.replace(".", "/"))
    return [path for path in found if (path / "__init__.py").is_file()]


PUBLIC = [folder for pattern in CONTRACTS["public-side"]["source_modules"] for folder in folders(pattern)]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    path = os.pathsep.join([str(root / "src"), str(root)])
    return subprocess.run(
        [program, "--no-cache"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": path, "COLUMNS": "300"},
        capture_output=True,
        text=True,
    )


def copied(tmp_path: Path) -> Path:
    for name in ("src", "reproduction"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_a_planted_import_of_ratings_in_any_public_folder_is_found(tmp_path: Path) -> None:
    root = copied(tmp_path)
    planted = []
    for folder in PUBLIC:
        place = root / folder.relative_to(ROOT) / "planted.py"
        place.write_text("from discreet.data.ratings import Ratings as Ratings\n")
        planted.append(".".join(place.relative_to(root / "src").with_suffix("").parts))
    (root / "src/discreet/devices/device/planted.py").write_text("import numpy as np\n")
    (root / "src/discreet/kernels/heavy.py").write_text("import polars as pl\n")
    (root / "src/discreet/data/planted.py").write_text("import reproduction\n")
    done = lint(root)
    assert done.returncode != 0
    for module in planted:
        assert re.search(rf"{re.escape(module)} -> discreet\.data\.ratings", done.stdout), module
    assert "discreet.devices.device.planted -> numpy" in done.stdout
    assert "discreet.kernels.heavy -> polars" in done.stdout
    assert "discreet.data.planted -> reproduction" in done.stdout


def test_every_public_half_is_in_the_contract() -> None:
    names = {folder.relative_to(ROOT / "src").as_posix() for folder in PUBLIC}
    halves = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/discreet/methods").glob("*/public")
        if path.is_dir()
    }
    assert len(halves) >= 4
    assert halves <= names
    for room in (
        "model",
        "catalogue",
        "privacy",
        "kernels",
        "silos/server",
        "silos/shared",
        "devices/collector",
    ):
        assert f"discreet/{room}" in names, room


def test_contracts_name_folders_and_not_single_files() -> None:
    for contract in CONTRACTS.values():
        for pattern in contract["source_modules"]:
            single = (ROOT / "src" / pattern.replace(".", "/")).with_suffix(".py")
            assert not single.is_file() or pattern.count(".") == 1, pattern


def places(pattern: str) -> set[str]:
    """Rooms (two folders deep) in which a line matches."""
    found = set()
    for path in (ROOT / "src/discreet").rglob("*.py"):
        if re.search(pattern, path.read_text(), re.MULTILINE):
            found.add("/".join(path.relative_to(ROOT / "src/discreet").parts[:2]))
    return found


def test_one_place_builds_blocks_one_draws_noise_for_sums_and_one_randomises_responses() -> None:
    blocks = r"\b(ItemVector|ItemMatrix|ItemWeight|UserMatrix|UserVector|CoMoment|DenseRows|Contributions)\("
    assert {place.split("/")[0] for place in places(blocks)} == {"privacy"}
    assert places(r"Generator\(AESCounter") == {"privacy/gaussian"}
    # The device's folder stands alone, so it has the one twin there is.
    assert places(r"def respond\w*\(") == {"privacy/local", "devices/device"}


def test_everything_compiled_is_a_kernel() -> None:
    assert {place.split("/")[0] for place in places(r"@kernel\b|\bnjit\b")} == {"kernels"}
