"""The tutorial as notebooks, made from its pages: ``python -m manual.notebooks`` runs them and stores what they show.

Text stays text; a Python block or a command line becomes a cell that runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat

from manual.outside import ROOT

__all__ = ["PAGES", "executed", "notebook", "path_of"]

PAGES = ("start/first-model.md", "start/own-file.md", "guides/evaluation.md")
_RUN = """
import os, sys, nbformat
from nbclient import NotebookClient
os.chdir(os.path.dirname(sys.argv[1]))
made = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(made, timeout=600).execute()
nbformat.write(made, sys.argv[1])
"""
_SHELL = "%%script bash -e"  # a command that fails ends the cell, and the notebook
_BAR = re.compile(
    r"\x1b\[\?25l.*?\x1b\[\?25h(?:\r?\x1b\[1A\x1b\[2K)*", re.DOTALL
)  # progress, which is gone once it is done
_CELL = re.compile(r"^```python\n(.*?)^```$|((?:^    discreet [^\n]*\n)+)", re.MULTILINE | re.DOTALL)


def path_of(page: str) -> Path:
    """Where the notebook of a page is stored."""
    return ROOT / "examples/notebooks" / f"{Path(page).stem}.ipynb"


def notebook(page: str) -> Any:
    """The notebook of a page, not run."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    # Links of the page lead nowhere from a notebook that somebody carries away.
    text = re.sub(r"\[([^\]]*)\]\((?!https?:)[^)]+\)", r"\1", text)
    text = re.sub(r" *\\\n +", " ", text)
    cells, end = [], 0
    if "discreet sample" not in text:
        cells.append(nbformat.v4.new_code_cell(f"{_SHELL}\ndiscreet sample --out .", id="files"))
    for number, match in enumerate(_CELL.finditer(text)):
        before = text[end : match.start()].strip()
        if before:
            cells.append(nbformat.v4.new_markdown_cell(before, id=f"text-{number}"))
        if match[1]:
            code = match[1].rstrip()
        else:
            code = "\n".join([_SHELL, *(line[4:] for line in match[2].rstrip().split("\n"))])
        cells.append(nbformat.v4.new_code_cell(code, id=f"code-{number}"))
        end = match.end()
    if text[end:].strip():
        cells.append(nbformat.v4.new_markdown_cell(text[end:].strip(), id="text-last"))
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=kernel)


def executed(made: Any, folder: Path) -> Any:
    """Run a notebook in a folder, with this interpreter's own commands on the path.

    In a process of its own: the client leaves an event loop behind.
    """
    file = folder / "notebook.ipynb"
    nbformat.write(made, file)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([sys.executable, "-c", _RUN, str(file)], check=True, env=os.environ | {"PATH": path})
    done = nbformat.read(file, as_version=4)
    file.unlink()
    for cell in done.cells:
        cell.metadata.pop("execution", None)  # times of one machine
        if "outputs" in cell:
            cell.outputs = _shown(cell.outputs)
    return done


def _shown(outputs: list[Any]) -> list[Any]:
    """What is left to see: text in one piece for each stream, without bars of progress."""
    streams: dict[str, Any] = {}
    for output in outputs:
        if output.output_type == "stream":
            streams.setdefault(
                output.name, nbformat.v4.new_output("stream", name=output.name, text="")
            ).text += output.text
    for stream in streams.values():
        stream.text = _BAR.sub("", stream.text)
    others = [output for output in outputs if output.output_type != "stream"]
    return [stream for stream in streams.values() if stream.text.strip()] + others


def main() -> None:
    """Run and store all of them."""
    for page in PAGES:
        target = path_of(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(notebook(page), Path(folder)), target)
        print(target.relative_to(ROOT))


if __name__ == "__main__":
    main()
