"""Node, and the module in it."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import discreet.devices.device
from discreet.devices.package import MODULE

FILE = Path(discreet.devices.device.__file__).parent / "javascript" / MODULE
DRIVER = Path(__file__).parent / "driver.mjs"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None, reason="Node is not installed, so JavaScript cannot be compared"
)


def run_node(folder: Path, *arguments: str) -> str:
    """What a program prints; the module lies beside it under a name that Node takes for a module."""
    module = folder / "discreet-device.mjs"
    module.write_bytes(FILE.read_bytes())
    done = subprocess.run(
        [str(NODE), arguments[0], str(module), *arguments[1:]],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def in_node(folder: Path, cases: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One result a case: ``ok`` with a value, or ``refused`` with the reason. Anything else is an error."""
    listed = list(cases)
    file = folder / "cases.json"
    file.write_text(json.dumps(listed))
    found: list[dict[str, Any]] = json.loads(run_node(folder, str(DRIVER), str(file)))
    broken = [one["broken"] for one in found if "broken" in one]
    assert not broken, broken[0]
    assert len(found) == len(listed)
    return found


def digits(value: float) -> str:
    """All 64 bits of a float."""
    return struct.pack(">d", value).hex()


def from_digits(text: str) -> float:
    """The float of these 64 bits."""
    value: float = struct.unpack(">d", bytes.fromhex(text))[0]
    return value


def rated(ratings: dict[int, float]) -> list[list[Any]]:
    return [[item, digits(value)] for item, value in ratings.items()]
