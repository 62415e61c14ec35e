"""``discreet export``: a model in forms that others read."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.output import json_option, print_json
from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_directory, replace_file
from discreet.model.exported import write_arrays, write_table
from discreet.statements.document import write_document
from discreet.statements.page import card as model_card
from discreet.web.packed import PRECISIONS, Precision
from discreet.web.page import INDEX, MODEL, page_files

__all__ = ["arrays", "card", "command", "table", "web"]


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


@command.command("web")
@click.argument("model_directory", metavar="MODEL")
@click.option("--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder to write.")
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default="int8",
    show_default=True,
    help="Of the numbers: int8 is the smallest file, float64 the model as it is.",
)
@click.option("--force", is_flag=True, help="Replace a page that is there already.")
@json_option
def web(model_directory: str, out: Path, precision: Precision, force: bool, as_json: bool) -> None:
    """Write the page that recommends in the browser as a folder for any web host.

    What a person rates there never leaves the browser. The folder has the released model in it and nothing else.

    \b
    Example:
      discreet export web model/ --out page/
      python -m http.server --directory page/ --bind 127.0.0.1 8000
    """
    target = _check_target(out, force)
    model = Model.load(model_directory)
    made = page_files(model, write_document(model_directory), precision)
    replace_directory(
        target, {name: file.content for name, file in made.items()}, private=not model.statement.private
    )
    size = sum(len(file.content) for file in made.values())
    if as_json:
        print_json({"out": str(out), "files": sorted(made), "bytes": size, "precision": precision})
    else:
        click.echo(f"{len(made)} files, {size / 1e6:.2f} MB in all, in {out}")


@command.command("arrays")
@click.argument("model_directory", metavar="MODEL")
@click.option(
    "--out", required=True, metavar="FILE", type=click.Path(path_type=Path), help="File to write (.npz)."
)
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@json_option
def arrays(model_directory: str, out: Path, force: bool, as_json: bool) -> None:
    """Write ids, factors and what lists are ordered by as NumPy arrays, for other programs.

    \b
    Example:
      discreet export arrays model/ --out model.npz
    """
    _check_file(out, ".npz", force)
    shapes = write_arrays(Model.load(model_directory), out)
    if as_json:
        print_json({"out": str(out), "arrays": shapes})
    else:
        click.echo(f"{', '.join(shapes)} in {out}")


@command.command("table")
@click.argument("model_directory", metavar="MODEL")
@click.option(
    "--out",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File to write (.parquet).",
)
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@json_option
def table(model_directory: str, out: Path, force: bool, as_json: bool) -> None:
    """Write a table of weights as Parquet: item, other item, weight. One SQL query makes lists of it.

    Rows without an item are popularity, which everybody's score has. The manual has the query ("With other tools").

    \b
    Example:
      discreet export table model/ --out table.parquet
    """
    _check_file(out, ".parquet", force)
    rows = write_table(Model.load(model_directory), out)
    if as_json:
        print_json({"out": str(out), "rows": rows})
    else:
        click.echo(f"{rows:,} rows in {out}")


@command.command("card")
@click.argument("model_directory", metavar="MODEL")
@click.option(
    "--out", required=True, metavar="FILE", type=click.Path(path_type=Path), help="File to write (.md)."
)
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
@json_option
def card(model_directory: str, out: Path, force: bool, as_json: bool) -> None:
    """Write a model card from the statement: Markdown, as model hubs show it.

    \b
    Example:
      discreet export card model/ --out README.md
    """
    _check_file(out, ".md", force)
    text = model_card(write_document(model_directory))
    replace_file(out, lambda file: file.write(text.encode()), private=False)
    if as_json:
        print_json({"out": str(out), "bytes": len(text.encode())})
    else:
        click.echo(f"The model card is in {out}")


def _check_file(out: Path, ending: str, force: bool) -> None:
    if out.suffix.lower() != ending:
        raise SettingsInvalid(f"{out} must end in {ending}")
    if not out.absolute().parent.is_dir():
        raise SettingsInvalid(f"{out.absolute().parent} is not a directory; create it first")
    if out.exists() and (not force or not out.is_file()):
        raise SettingsInvalid(f"{out} exists; choose another name, or replace it with --force")


def _check_target(out: Path, force: bool) -> Path:
    target = out.absolute()
    if not target.parent.is_dir():
        raise SettingsInvalid(f"{target.parent} is not a directory; create it first")
    if not target.exists():
        return target
    if not target.is_dir() or target.is_symlink():
        raise SettingsInvalid(f"{target} exists and is not a directory; choose another name")
    if any(target.iterdir()):
        if not ((target / INDEX).is_file() and (target / MODEL).is_file()):
            raise SettingsInvalid(f"{target} has other files in it and no page; choose another name")
        if not force:
            raise SettingsInvalid(
                f"{target} already has a page; choose another name, or replace it with --force"
            )
    return target
