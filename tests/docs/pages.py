"""A page of the manual as steps: its Python blocks and its command lines, in their order."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from discreet.cli import main

__all__ = ["ROOT", "Step", "run_page", "steps"]

ROOT = Path(__file__).parents[2]
_FENCED = re.compile(r"^```(?P<kind>\w*)[^\n]*\n.*?^```$", re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"^```python\n(?P<python>.*?)^```$|^    (?P<line>[a-z][^\n]*)$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """One Python block, or one command line without its comment."""

    python: str = ""
    command: tuple[str, ...] = ()


def steps(text: str) -> list[Step]:
    """What a page asks its reader to do; other indented lines (formulas, listings) are not commands."""
    text = _FENCED.sub(lambda fence: fence[0] if fence["kind"] == "python" else "", text)
    text = re.sub(r" *\\\n +", " ", text)
    found = []
    for match in _STEP.finditer(text):
        if match["python"]:
            found.append(Step(python=match["python"]))
        else:
            line = re.sub(r"\s+#.*$", "", match["line"])
            if line.split()[0] in (
                "discreet",
                "python",
                "pip",
                "curl",
                "openssl",
                "make",
                "docker",
                "systemctl",
            ):
                found.append(Step(command=tuple(shlex.split(line))))
    return found


def run_page(page: str) -> list[str]:
    """Run every step of a page in the current folder; what each one printed."""
    names: dict[str, object] = {"__name__": Path(page).stem}
    printed = []
    for step in steps((ROOT / page).read_text(encoding="utf-8")):
        if step.python:
            exec(compile(step.python, page, "exec", dont_inherit=True), names)
            continue
        program, *arguments = step.command
        if program in ("pip", "make", "openssl", "python"):  # tried elsewhere
            continue
        assert program == "discreet", f"{page}: who runs {program}?"
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, (page, step.command, done.output)
        printed.append(done.output)
    return printed
