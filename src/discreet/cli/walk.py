"""A run of `train`, followed from file to file, and what one must read to believe it.

`walk`: which function does what, in the order of their first calls. A small model is trained on made-up ratings under a
profiler; a function's line is the first sentence of its docstring. What checks, looks up or only says a number is left
out, and so is what every kernel shares.

`trusted`: the files that the entry points of `train` reach by imports, and their lines of code. Imports are followed
from where ratings are read, bounded, summed, noised, charged and stated. Rooms that see releases alone are not entered:
they import nothing that holds ratings, which contracts hold them to (pyproject.toml, ``public-side``). What is loaded
only when it is asked for (a ledger, a checkpoint, ratings on disk, a GPU, a cluster) is no part of a default run: a
test compares this list with what one loads. Of a package that hands on names of its files (``kernels``) the files
behind the names used count.
"""

from __future__ import annotations

import ast
import inspect
import io
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib import util
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

import discreet
from discreet.data.synthetic import market

__all__ = ["ENTRY_POINTS", "PUBLIC", "Step", "code_lines", "trusted", "walk"]

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


ENTRY_POINTS = (
    "discreet.data.ratings",
    "discreet.engines.memory",
    "discreet.methods.ease.estimator",
    "discreet.methods.ease.private.contributions",
    "discreet.privacy.gaussian.gate",
    "discreet.privacy.gaussian.pairs",
    "discreet.privacy.ledger",
    "discreet.privacy.promise",
)
"""Of training lists: reading, bounding, summing, what drives them, the gate, accounting, the statement."""
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

_SKIPPED = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def trusted(entries: tuple[str, ...] = ENTRY_POINTS) -> dict[str, int]:
    """Lines of code of every file that the entry points reach, by module."""
    reached: dict[str, int] = {}
    left = list(entries)
    while left:
        name = left.pop()
        if name not in reached and not _is_public(name):
            reached[name] = code_lines(_text(name))
            left += _imported(name)
    return {name: lines for name, lines in sorted(reached.items()) if lines}


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
    return name.startswith(tuple(f"{room}." for room in PUBLIC)) or name in PUBLIC or ".public." in f"{name}."


@cache
def _path(name: str) -> Path | None:
    """The module's file; ``None`` where there is no such module."""
    try:
        spec = util.find_spec(name)
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)


@cache
def _text(name: str) -> str:
    path = _path(name)
    assert path is not None
    return path.read_text()


def _imported(name: str) -> Iterator[str]:
    """The modules whose names a module uses."""
    tree = ast.parse(_text(name))
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] == "discreet")
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "discreet":
            for alias in node.names:
                yield from _behind(tree, node.module or "", alias.name)


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """What loading a file executes: not what is for type checkers, nor what a function imports when asked."""
    for node in ast.iter_child_nodes(tree):
        typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not typing and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            yield from _executed(node)


def _behind(tree: ast.Module, module: str, name: str) -> Iterator[str]:
    """Where a name comes from; of a package that hands on names of its files, where those come from that are used."""
    inner = f"{module}.{name}"
    path = _path(inner)
    if path is None:
        yield _home(module, name)
    elif path.name != "__init__.py":
        yield inner
    else:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
                yield _home(inner, node.attr)


def _home(module: str, name: str) -> str:
    """The file in which a package's name is defined, where the package only hands it on."""
    path = _path(module)
    if path is not None and path.name == "__init__.py":
        for node in ast.parse(_text(module)).body:
            if isinstance(node, ast.ImportFrom) and name in {one.asname or one.name for one in node.names}:
                return _home(node.module or "", name)
    return module
