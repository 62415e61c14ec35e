"""``discreet export``: a model in forms that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.output import Output, check_file, print_json
from discreet.cli.request import argument, option, takes
from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_directory, replace_file
from discreet.model.exported import write_arrays, write_table
from discreet.statements.document import write_document
from discreet.statements.page import card as model_card
from discreet.web.packed import Precision
from discreet.web.page import INDEX, MODEL, page_files

__all__ = ["command"]


@click.group("export")
def command() -> None:
    """Write a MODEL in forms that others read: a page, plain arrays, a table, a card.

    \b
    Examples:
      discreet export web model/ --out page/
      discreet export arrays model/ --out model.npz
      discreet export table model/ --out table.parquet
      discreet export card model/ --out README.md
    """


class _File(Output):
    model: str = argument("MODEL")
    out: Path = option("File to write.", metavar="FILE")
    force: bool = option("Replace a file that is there already.")

    def answer(self, words: str, **content: Any) -> None:
        """Say what was written."""
        if self.as_json:
            print_json({"out": str(self.out), **content})
        else:
            click.echo(f"{words} in {self.out}")


class _Web(_File):
    out: Path = option("Folder to write.", metavar="DIR")
    precision: Precision = option(
        "Of the numbers: int8 is the smallest file, float64 the model as it is.", "int8"
    )


@takes(_Web, "web", group=command)
def _web(request: _Web) -> None:
    """Write the page that recommends in the browser as a folder for any web host.

    What a person rates there never leaves the browser. The folder has the released model in it and nothing else.

    \b
    Example:
      discreet export web model/ --out page/
      python -m http.server --directory page/ --bind 127.0.0.1 8000
    """
    target = _check_folder(request.out, request.force)
    model = Model.load(request.model)
    made = page_files(model, write_document(request.model), request.precision)
    files = {name: file.content for name, file in made.items()}
    replace_directory(target, files, private=not model.statement.private)
    size = sum(map(len, files.values()))
    words = f"{len(made)} files, {size / 1e6:.2f} MB in all,"
    request.answer(words, files=sorted(made), bytes=size, precision=request.precision)


def _check_folder(out: Path, force: bool) -> Path:
    target = out.absolute()
    if not target.parent.is_dir():
        raise SettingsInvalid(f"{target.parent} is not a directory; create it first")
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise SettingsInvalid(f"{target} exists and is not a directory; choose another name")
    if target.exists() and any(target.iterdir()):
        if not ((target / INDEX).is_file() and (target / MODEL).is_file()):
            raise SettingsInvalid(f"{target} has other files in it and no page; choose another name")
        if not force:
            raise SettingsInvalid(
                f"{target} already has a page; choose another name, or replace it with --force"
            )
    return target


@takes(_File, "arrays", group=command)
def _arrays(request: _File) -> None:
    """Write ids, factors and what lists are ordered by as NumPy arrays (.npz), for other programs.

    \b
    Example:
      discreet export arrays model/ --out model.npz
    """
    check_file(request.out, ".npz", force=request.force)
    shapes = write_arrays(Model.load(request.model), request.out)
    request.answer(", ".join(shapes), arrays=shapes)


@takes(_File, "table", group=command)
def _table(request: _File) -> None:
    """Write a table of weights as Parquet: item, other item, weight. One SQL query makes lists of it.

    Rows without an item are popularity, which everybody's score has. The manual has the query ("With other tools").

    \b
    Example:
      discreet export table model/ --out table.parquet
    """
    check_file(request.out, ".parquet", force=request.force)
    rows = write_table(Model.load(request.model), request.out)
    request.answer(f"{rows:,} rows", rows=rows)


@takes(_File, "card", group=command)
def _card(request: _File) -> None:
    """Write a model card from the statement: Markdown (.md), as model hubs show it.

    \b
    Example:
      discreet export card model/ --out README.md
    """
    check_file(request.out, ".md", force=request.force)
    text = model_card(write_document(request.model)).encode()
    replace_file(request.out, lambda file: file.write(text), private=False)
    request.answer(f"The model card ({len(text):,} bytes) is", bytes=len(text))
