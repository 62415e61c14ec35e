"""The GPU's kernels on a GPU where there is one; else the same sources in Triton's interpreter, on the CPU."""

from __future__ import annotations

import importlib.util
import os

import pytest

_MISSING = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]

if not _MISSING:
    import torch

    if not torch.cuda.is_available():
        # Read when a kernel is defined, so before the kernels are imported.
        os.environ["TRITON_INTERPRET"] = "1"

collect_ignore_glob = ["test_*.py"] if _MISSING else []


def pytest_report_header() -> str | None:
    """Say in words what is not tested here."""
    if _MISSING:
        return f"tests/engines/gpu: left out, {' and '.join(_MISSING)} not installed (extra gpu)"
    return None


@pytest.fixture(scope="session")
def device():
    """Where the kernels run."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
