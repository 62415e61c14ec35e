"""A run of `train`, followed from file to file: which function does what, in the order of their first calls.

Nothing is written down by hand. A small model is trained on made-up ratings under a profiler; a function's line is the
first sentence of its docstring. What checks, looks up or only says a number is left out, and so is what every kernel
shares.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

import discreet
from discreet.data.synthetic import market

__all__ = ["Step", "walk"]

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
