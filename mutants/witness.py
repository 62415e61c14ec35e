"""A plugin for pytest: which test failed and how, and whether it ran the copy that the bug is in."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

_FAILED: list[dict[str, str]] = []
_RAN: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note every test, and what went wrong."""
    if report.when == "call" or report.failed:
        _RAN.append(report.nodeid)
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        said = str(report.longrepr if crash is None else crash.message)
        _FAILED.append({"test": report.nodeid, "said": " ".join(said.split())[:200]})


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot even be read is noted apart: whoever breaks the import plants nothing."""
    if report.failed:
        _FAILED.append({"test": report.nodeid, "said": "cannot be collected"})


def pytest_sessionfinish() -> None:
    """Write it all down."""
    module = sys.modules.get("discreet")
    home = "" if module is None or module.__file__ is None else module.__file__
    Path(os.environ["MUTANT_WITNESS"]).write_text(
        json.dumps(
            {
                "failed": _FAILED,
                "ran": len(_RAN),
                "copy": home.startswith(os.environ["MUTANT_SOURCES"]),
                "modules": sorted(name for name in sys.modules if name.startswith("discreet.")),
            }
        )
    )
