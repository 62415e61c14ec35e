"""What one must read to believe `train`: the files that its entry points reach by imports, and their lines of code.

Imports are followed from where ratings are read, bounded, summed, noised, charged and stated. Rooms that see releases
alone are not entered: they import nothing that holds ratings, which contracts hold them to (pyproject.toml,
``public-side``). What is loaded only when it is asked for (a ledger, a checkpoint, ratings on disk, tables of other
libraries, a GPU, a cluster) is no part of a default run: a test compares this list with what one loads. Of a package
that hands on names of its files (``kernels``) the files behind the names used count.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib import util
from pathlib import Path

__all__ = ["ENTRY_POINTS", "PUBLIC", "code_lines", "trusted"]

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
    *(
        f"discreet.catalogue.{what}"
        for what in ("catalogue", "features", "feature_columns", "feature_groups", "names")
    ),
)
"""What sees releases and public columns of items alone; beside it the folder ``public`` of every method."""

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
