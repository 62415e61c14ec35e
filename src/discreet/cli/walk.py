"""A run of `train`, followed from file to file, and what one must read to believe it.

`walk`: which function does what, in the order of their first calls. A small model is trained on made-up ratings under a
profiler; a function's line is the first sentence of its docstring. What checks, looks up or only says a number is left
out, and so is what every kernel shares.

`trusted`: the files that a default run loads, and their lines of code, without rooms that see releases alone: they
import nothing that holds ratings, which contracts hold them to (pyproject.toml, ``public-side``). What is loaded only
when it is asked for (a ledger, a checkpoint, ratings on disk, a GPU, a cluster) is no part of it. Of ``kernels`` the
files count whose names are used.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import subprocess
import sys
import tempfile
import tokenize
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

import discreet
from discreet import kernels
from discreet.data.synthetic import market

__all__ = ["PUBLIC", "Step", "code_lines", "trusted", "walk"]

_ROOT = Path(discreet.__file__).parent
_ROOMS = ("data", "methods", "engines", "kernels", "privacy", "model")
_ASIDE = (
    "data/synthetic",
    "kernels/draws.py",
    "kernels/checks.py",
    "kernels/threads.py",
    "methods/log.py",
    "methods/checks.py",
)


class Step(NamedTuple):
    """One function of the walk: its file under ``src/discreet``, its name, and what it says of itself."""

    file: str
    function: str
    does: str


def _train() -> None:
    """From a file of ratings to a model."""
    made_up = market(400, 60, 4_000, rng=0)
    assert made_up.catalogue is not None
    users = np.repeat(made_up.user_ids, np.diff(made_up.indptr))
    rows = zip(users, made_up.catalogue.ids[made_up.items], strict=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ratings.csv"
        file.write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in rows))
        ratings = discreet.Ratings.from_file(file, user="user", item="item", catalogue=made_up.catalogue)
    discreet.EASE().fit(ratings, discreet.Budget(5.0, 1e-6))


def walk() -> list[Step]:
    """The functions that a run goes through, each once."""
    called: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(_ROOT)):
            called.setdefault(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        _train()
    finally:
        sys.setprofile(before)
    return [step for code in called if (step := _step(code)) is not None]


def _step(code: CodeType) -> Step | None:
    file = Path(code.co_filename).relative_to(_ROOT).as_posix()
    name = code.co_qualname.rpartition(".")[2]
    if (
        name.startswith(("_", "<", "check"))
        or file.startswith(_ASIDE)
        or file.partition("/")[0] not in _ROOMS
    ):
        return None
    found: Any = sys.modules.get("discreet." + file.removesuffix(".py").replace("/", "."))
    for part in code.co_qualname.split("."):
        found = inspect.getattr_static(found, part, None)
    if isinstance(found, property | type | None):
        return None
    does = inspect.getdoc(getattr(found, "__func__", found))
    return None if does is None else Step(file, code.co_qualname, does.partition("\n")[0])


_DEFAULT_RUN = """
import sys, tempfile, discreet
named = {"user": "u", "item": "i", "rating": "r", "catalogue": ["a", "b", "c"], "rating_range": (1, 5)}
with tempfile.TemporaryDirectory() as folder:
    file = f"{folder}/ratings.csv"
    with open(file, "w") as rows:
        rows.write("u,i,r\\n" + "".join(f"{k // 3},{'abc'[k % 3]},{1 + 2 * (k % 3)}\\n" for k in range(600)))
    discreet.EASE().fit(discreet.Ratings.from_file(file, **named), discreet.Budget(1.0, 1e-6))
print(*(f"{name} {module.__file__}" for name, module in sys.modules.items() if name.startswith("discreet.")), sep="\\n")
"""
PUBLIC = (
    "discreet.model",
    "discreet.private_files",
    "discreet.statements",
    *(f"discreet.catalogue.{what}" for what in ("catalogue", "features", "feature_columns", "columns")),
    *(f"discreet.privacy.{what}" for what in ("costs", "statement")),
)
"""What sees releases and public columns of items alone; beside it the folder ``public`` of every method, and of all.

A model's statement adds to a run's own promise what the model carries beside it: earlier runs, silos, a selection.
"""

_KERNELS = "discreet.kernels."
_SKIPPED = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def trusted() -> dict[str, int]:
    """Lines of code of every file that a default run loads and that is not public, by module."""
    done = subprocess.run([sys.executable, "-c", _DEFAULT_RUN], capture_output=True, text=True, check=True)
    loaded = {
        name: Path(file)
        for name, _, file in (line.partition(" ") for line in done.stdout.split("\n"))
        if file
    }
    texts = {
        name: file.read_text()
        for name, file in loaded.items()
        if file.name != "__init__.py" and not _is_public(name)
    }
    read = {name: text for name, text in texts.items() if not name.startswith(_KERNELS)}
    left = list(read.values())
    while left:
        for name in _kernels_of(left.pop()) & texts.keys() - read.keys():
            read[name] = texts[name]
            left.append(texts[name])
    return {name: lines for name, text in sorted(read.items()) if (lines := code_lines(text))}


def _kernels_of(text: str) -> set[str]:
    """The files of kernels that a file names, or whose functions it calls."""
    called = (getattr(kernels, name, None) for name in re.findall(r"\bkernels\.(\w+)", text))
    return {_KERNELS + name for name in re.findall(r"discreet\.kernels\.(\w+)", text)} | {
        str(getattr(one, "__module__", "")) for one in called
    }


def code_lines(text: str) -> int:
    """Lines that hold code: no blank ones, comments or docstrings."""
    strings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SKIPPED:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - strings)


def _is_public(name: str) -> bool:
    return (
        name.startswith(tuple(f"{room}." for room in PUBLIC))
        or name in (*PUBLIC, "discreet.version")
        or ".public." in f"{name}."
    )
