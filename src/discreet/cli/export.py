"""``discreet export``: a model in forms that others read."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.output import json_option, print_json
from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_directory
from discreet.statements.document import write_document
from discreet.web.item_side import PRECISIONS, Precision
from discreet.web.page import INDEX, MODEL, page_files

__all__ = ["command", "web"]


@click.group("export")
def command() -> None:
    """Write a MODEL as a page for any web host.

    \b
    Example:
      discreet export web model/ --out page/
    """


@command.command("web")
@click.argument("model_directory", metavar="MODEL")
@click.option("--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder to write.")
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default="int8",
    show_default=True,
    help="Of the factors: int8 is the smallest file, float64 the model as it is.",
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
    made = page_files(Model.load(model_directory), write_document(model_directory), precision)
    replace_directory(target, {name: file.content for name, file in made.items()})
    size = sum(len(file.content) for file in made.values())
    if as_json:
        print_json({"out": str(out), "files": sorted(made), "bytes": size, "precision": precision})
    else:
        click.echo(f"{len(made)} files, {size / 1e6:.2f} MB in all, in {out}")


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
