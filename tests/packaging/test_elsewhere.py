"""As far as Linux can tell: nothing needs what macOS or Windows do not have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMPORTS = """
from tests.packaging.windows import keep_manners
keep_manners()
import importlib, pkgutil
import discreet
left_out = ("discreet.ecosystem.", "discreet.kernels.gpu")
bad = []
for module in pkgutil.walk_packages(discreet.__path__, "discreet."):
    if module.name.startswith(left_out) or module.name.endswith(("__main__", "gpu_answers")):
        continue
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        if error.name not in ("torch", "ray"):
            bad.append(f"{module.name}: {error}")
print("\\n".join(bad))
from discreet.data.preparation import _memory
assert _memory() > 0
"""


def run_python(*arguments: str, folder: Path) -> str:
    """A program of its own in a folder, with this checkout's packages."""
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_every_module_is_imported_without_what_only_posix_has(tmp_path: Path) -> None:
    assert run_python("-c", IMPORTS, folder=tmp_path).strip() == ""


@pytest.mark.slow
def test_people_can_work_under_the_rules_of_windows(tmp_path: Path) -> None:
    run_python("-m", "tests.packaging.windows", folder=tmp_path)
    assert (tmp_path / "model" / "manifest.json").exists()
    assert not (tmp_path / "model.run").exists()


BROKEN = """
import os, sys
from tests.packaging.windows import keep_manners
keep_manners()
what = sys.argv[1]
open("file", "w").close()
if what == "folder": os.open(".", os.O_RDONLY)
if what == "sync": os.fsync(os.open("file", os.O_RDONLY))
if what == "rename": open("other", "w").close(); os.rename("file", "other")
if what == "unlink": held = open("file"); os.unlink("file")
if what == "import": import resource
if what == "call": os.sysconf("SC_PHYS_PAGES")
"""


@pytest.mark.parametrize("what", ["folder", "sync", "rename", "unlink", "import", "call"])
def test_the_rules_are_kept(tmp_path: Path, what: str) -> None:
    with pytest.raises(AssertionError, match=r"Windows|import of resource|has no attribute .sysconf"):
        run_python("-c", BROKEN, what, folder=tmp_path)
