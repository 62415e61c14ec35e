"""The GPU's kernels on a GPU where there is one; else the same sources in Triton's interpreter, on the CPU."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import math
import os

import numpy as np
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


@pytest.fixture
def fused(monkeypatch):
    """Fused operations in Triton's interpreter too, which before 3.9 rounds a product before it adds."""
    if torch.cuda.is_available():
        return
    from triton.runtime import interpreter

    if hasattr(interpreter._interpreter, "fma_fp64"):
        return
    fma = getattr(math, "fma", None)
    if fma is None:
        fma = ctypes.CDLL(ctypes.util.find_library("m")).fma
        fma.restype, fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    every = np.frompyfunc(fma, 3, 1)

    def create_fma(self, x, y, z):
        found = np.asarray(every(x.data, y.data, z.data), np.float64)
        return interpreter.TensorHandle(found, z.dtype.scalar)

    monkeypatch.setattr(interpreter.InterpreterBuilder, "create_fma", create_fma)
