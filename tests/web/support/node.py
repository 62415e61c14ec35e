"""The page's own arithmetic, outside a browser: node runs the modules that the page loads."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import discreet.web
from discreet.model import Model
from discreet.statements.document import write_document
from discreet.web.page import Precision, pack

STATIC = Path(discreet.web.__file__).parent / "static"


def node() -> str:
    """Node, or the one that comes with playwright."""
    found = shutil.which("node")
    if found is None:
        driver = pytest.importorskip(
            "playwright._impl._driver", reason="neither node nor playwright is installed"
        )
        found = str(driver.compute_driver_executable()[0])
    return found


def run(program: str, tmp_path: Path, *files: Path) -> Any:
    """What a program beside this file prints, given the page's modules and files."""
    modules = tmp_path / "modules"
    shutil.copytree(STATIC, modules, dirs_exist_ok=True)
    (modules / "package.json").write_text('{"type": "module"}')
    command = [node(), Path(__file__).with_name(program), modules, *files]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_the_page(model: Model, histories: list[dict[str, Any]], precision: Precision, tmp_path: Path) -> Any:
    """What the page computes for each history: coefficients, ten items with scores and marks, and pulls."""
    document = write_document(model.save(tmp_path / "model", overwrite=True))
    (tmp_path / "model.bin").write_bytes(gzip.compress(pack(model, document, precision)))
    (tmp_path / "histories.json").write_text(json.dumps(histories))
    return run("fold_in.mjs", tmp_path, tmp_path / "model.bin", tmp_path / "histories.json")
