"""Compiled code on disk: loaded by the next process, kept apart by processor, and optional."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import caching

from discreet.kernels.compile import kernel

ROOT = Path(__file__).parents[2]

CHECK = """
KINDS = ["float32", "float64"]
import numpy as np
from discreet import kernels
from discreet.kernels import tiles
from tests.kernels import reference
from tests.kernels.worlds import noisy_moments, sparse_rows, whole

rng = np.random.default_rng(0)
indptr, items = sparse_rows(rng, [0, 3, 40, 90], 100)
for kind in KINDS:
    args = indptr, items, rng.standard_normal(len(items)), rng.standard_normal((100, 19)).astype(kind), np.ones(19)
    np.testing.assert_allclose(
        kernels.solve_rows(*args), reference.solve_rows(*args), atol=1e-4 if kind == "float32" else 1e-11
    )
t = kernels.transpose(indptr, items, 100)
features = whole(rng, 4095, 4, 19)
np.testing.assert_array_equal(kernels.item_moments(*t[:2], features), reference.item_moments(*t[:2], features))
H, q = noisy_moments(rng, 12, 19, 1.0), rng.standard_normal((12, 19))
for ridge in (np.ones(19), np.arange(1.0, 20.0)):
    np.testing.assert_allclose(kernels.solve_items(H, q, ridge), reference.solve_items(H, q, ridge), atol=1e-8)
found = kernels.top_n(q, H[0] + 1.0, np.arange(19.0), 5)
np.testing.assert_array_equal(found[0], reference.top_n(q, H[0] + 1.0, np.arange(19.0), 5)[0])
"""

REPORT = """
from discreet.kernels import ranking, rows, items
hits = [sum(f.stats.cache_hits.values()) for f in
        (rows._solve_rows, items._item_moments, ranking._top_n)]
misses = [sum(f.stats.cache_misses.values()) for f in
          (rows._solve_rows, items._item_moments, ranking._top_n)]
print(tiles.X86, tiles.BYTES, tiles.WIDE, hits, misses)
"""


def run(program, *, kinds=("float32", "float64"), **environment):
    program = program.replace('["float32", "float64"]', str(list(kinds)))  # fewer kinds compile sooner
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_second_process_loads_machine_code_from_disk():
    exec(CHECK, {})  # compiled now, unless an earlier run has left it
    assert run(CHECK + REPORT).endswith("[2, 1, 1] [0, 0, 0]")


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86 processor to pretend on")
def test_narrower_registers_give_the_same_numbers(tmp_path):
    older = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma"}
    assert run(CHECK + REPORT, kinds=["float32"], NUMBA_CACHE_DIR=str(tmp_path), **older).startswith(
        "True 32 1"
    )


@pytest.mark.slow
def test_other_processors_agree(tmp_path):
    # The shape of tiles off x86; here it is forced, on whatever processor runs the test.
    forced = "from numba.core.registry import cpu_target\n" + (
        "kind = type(cpu_target.target_context.codegen())\n"
        "kind.magic_tuple = lambda self: ('aarch64-unknown-linux-gnu', 'generic', '+neon')\n"
    )
    assert run(forced + CHECK + REPORT, kinds=["float64"], NUMBA_CACHE_DIR=str(tmp_path)).startswith(
        "False 16 2"
    )


def test_without_a_place_to_write_kernels_still_compile(monkeypatch):
    monkeypatch.setattr(caching.FunctionCache._impl_class, "_locator_classes", [])
    assert kernel(lambda x: x + 1)(2) == 3


CALLER = """
from discreet.kernels.compile import kernel
from discreet.kernels.lower import more


@kernel
def twice(x):
    return 2 * more(x)
"""
CALLEE = """
from discreet.kernels.compile import kernel


@kernel
def more(x):
    return x + BY
"""


def test_code_that_calls_what_has_changed_is_compiled_again(tmp_path):
    """Numba by itself looks at the caller's own file alone, and would go on with what it called before."""
    kernels = tmp_path / "discreet" / "kernels"
    kernels.mkdir(parents=True)
    for package in (kernels.parent, kernels):
        (package / "__init__.py").touch()
    shutil.copy(ROOT / "src" / "discreet" / "kernels" / "compile.py", kernels)
    (kernels / "upper.py").write_text(CALLER)
    program = (
        "from discreet.kernels.upper import twice; print(twice(1), sum(twice.stats.cache_hits.values()))"
    )
    said = []
    for by in ("1", "50", "50"):
        (kernels / "lower.py").write_text(CALLEE.replace("BY", by))
        said.append(run(program, PYTHONPATH=str(tmp_path)))
    assert said == ["4 0", "102 0", "102 1"]
    assert len(list((kernels / "__pycache__").glob("upper-*"))) == 1, "what is out of date is not kept"


def test_kernels_import_each_other_in_the_one_form_that_is_followed():
    """What is imported in another form would not be in the name of the machine code that is kept."""
    for path in (ROOT / "src" / "discreet" / "kernels").glob("*.py"):
        text = path.read_text()
        if "@kernel" in text or "@exact_kernel" in text:
            # What runs on a card is compiled elsewhere.
            assert not re.search(
                r"from discreet\.kernels import (?!gpu$)|^import discreet", text, re.MULTILINE
            ), path.name
