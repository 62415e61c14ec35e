"""Compiled code on disk: loaded by the next process, kept apart by processor, and optional."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CHECK = """
import numpy as np
from discreet import kernels
from discreet.kernels import reference, registers
from tests.kernels.worlds import noisy_moments, sparse_rows, whole

rng = np.random.default_rng(0)
indptr, items = sparse_rows(rng, [0, 3, 40, 90], 100)
for kind, tolerance in ((np.float32, 1e-4), (np.float64, 1e-11)):
    args = indptr, items, rng.standard_normal(len(items)), rng.standard_normal((100, 19)).astype(kind), np.ones(19)
    np.testing.assert_allclose(kernels.solve_rows(*args), reference.solve_rows(*args), atol=tolerance)
t = kernels.transpose(indptr, items, 100)
features, targets = whole(rng, 4095, 4, 19), whole(rng, 4095, len(items))
for found, expected in zip(
    kernels.item_statistics(*t, features, targets), reference.item_statistics(*t, features, targets), strict=True
):
    np.testing.assert_array_equal(found, expected)
H, q = noisy_moments(rng, 12, 19, 1.0), rng.standard_normal((12, 19))
for ridge in (np.ones(19), np.arange(1.0, 20.0)):
    np.testing.assert_allclose(kernels.solve_items(H, q, ridge), reference.solve_items(H, q, ridge), atol=1e-8)
found = kernels.top_n(q, H[0] + 1.0, np.arange(19.0), 5)
np.testing.assert_array_equal(found[0], reference.top_n(q, H[0] + 1.0, np.arange(19.0), 5)[0])
"""

REPORT = """
from discreet.kernels import ranking, rows, solve, items
hits = [sum(f.stats.cache_hits.values()) for f in
        (rows._solve_rows, items._item_statistics, solve._solve_items, ranking._top_n)]
misses = [sum(f.stats.cache_misses.values()) for f in
          (rows._solve_rows, items._item_statistics, solve._solve_items, ranking._top_n)]
print(registers.X86, registers.BYTES, registers.WIDE, hits, misses)
"""


def run(cache, program=CHECK + REPORT, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_second_process_loads_machine_code_from_disk(tmp_path):
    assert run(tmp_path).endswith("[0, 0, 0, 0] [2, 1, 1, 1]")
    assert run(tmp_path).endswith("[2, 1, 1, 1] [0, 0, 0, 0]")


@pytest.mark.parametrize(
    ("name", "features", "expected"),
    [("haswell", "+avx,+avx2,+fma", "True 32 1"), ("x86-64", "", "True 16 1")],
)
def test_narrower_processors_give_the_same_numbers(tmp_path, name, features, expected):
    if sys.platform == "darwin" or os.uname().machine != "x86_64":
        pytest.skip("needs an x86 processor to pretend on")
    found = run(tmp_path, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES=features)
    assert found.startswith(expected)


def test_other_processors_without_the_pair_instruction_agree(tmp_path):
    # The portable way is the one taken off x86; here it is forced, on whatever processor runs the test.
    forced = "from numba.core.registry import cpu_target\n" + (
        "kind = type(cpu_target.target_context.codegen())\n"
        "kind.magic_tuple = lambda self: ('aarch64-unknown-linux-gnu', 'generic', '+neon')\n"
    )
    assert run(tmp_path, forced + CHECK + REPORT).startswith("False 16 2")


def test_without_a_place_to_write_kernels_still_compile(tmp_path):
    program = """
import numba.core.caching as caching
caching.FunctionCache._impl_class._locator_classes = []
import numpy as np
from discreet import kernels
assert kernels.item_weights(np.array([0, 2]), np.array([0, 1]), np.array([3, 4])).tolist() == [7.0]
"""
    run(tmp_path, program)
