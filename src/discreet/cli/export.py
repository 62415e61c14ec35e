"""A model elsewhere: ``discreet export`` (for other programs), ``serve`` (over HTTP), ``add-items`` (longer)."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.catalogue import TABLE_ERRORS, Catalogue, scan_items
from discreet.cli.group import needs
from discreet.cli.output import Answer, NewModel, Output, Replaces, check_file
from discreet.cli.request import argument, group, option, takes
from discreet.errors import CatalogueInvalid, SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_directory, replace_file
from discreet.model.folder import write_table
from discreet.model.storage import check_target
from discreet.statements.document import write_document
from discreet.statements.page import card as model_card
from discreet.web.page import INDEX, MODEL, Precision, page_files

__all__ = ["add_items", "export", "serve"]


@group("export")
def export() -> None:
    """See each of them."""


class _File(Output, Replaces):
    model: str = argument("MODEL")
    out: Path = option("File to write.", metavar="FILE")


class _Web(_File):
    out: Path = option("Folder to write.", metavar="DIR")
    precision: Precision = option(
        "Of the numbers: int8 is the smallest file, float64 the model as it is.", "int8"
    )


@takes(_Web, "web", inside=export)
def _web(request: _Web) -> Answer:
    """Write the page that recommends in the browser as a folder for any web host.

    What a person rates there never leaves the browser. The folder has the released model in it and nothing else.

    \b
    Example:
      discreet export web model/ --out page/
    """
    target = _check_folder(request.out, request.force)
    model = Model.load(request.model)
    made = page_files(model, write_document(request.model), request.precision)
    files = {name: file.content for name, file in made.items()}
    replace_directory(target, files, private=not model.statement.private)
    size = sum(map(len, files.values()))
    told = {"out": str(request.out), "files": sorted(made), "bytes": size, "precision": request.precision}
    return Answer(told, f"{len(made)} files, {size / 1e6:.2f} MB in all, in {request.out}")


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


@takes(_File, "table", inside=export)
def _table(request: _File) -> Answer:
    """Write a table of weights as Parquet: item, other item, weight. One SQL query makes lists of it.

    Rows without an item are popularity, which everybody's score has. The manual has the query ("With other tools").

    \b
    Example:
      discreet export table model/ --out table.parquet
    """
    check_file(request.out, ".parquet", force=request.force)
    rows = write_table(Model.load(request.model), request.out)
    return Answer({"out": str(request.out), "rows": rows}, f"{rows:,} rows in {request.out}")


@takes(_File, "card", inside=export)
def _card(request: _File) -> Answer:
    """Write a model card from the statement: Markdown (.md), as model hubs show it.

    \b
    Example:
      discreet export card model/ --out README.md
    """
    check_file(request.out, ".md", force=request.force)
    text = model_card(write_document(request.model)).encode()
    replace_file(request.out, lambda file: file.write(text), private=False)
    words = f"The model card ({len(text):,} bytes) is in {request.out}"
    return Answer({"out": str(request.out), "bytes": len(text)}, words)


class _Serve(Output):
    model: Path = argument("MODEL")
    host: str = option("Address to listen on.", "127.0.0.1")
    port: int = option("0 takes a free one.", 8080, ge=0, le=65535)
    token_file: str | None = option("File with the token that requests need.")
    anyone: bool = option("Answer whoever reaches the address: behind a proxy that ends TLS.")
    page: bool = option("Serve the page as well.", True, name="--page/--no-page")
    watch: float = option("Seconds between looks for a new model; 0: never.", 2.0, ge=0)
    largest_body: int = option("Most bytes in a request.", 1 << 18, ge=1024)


@takes(_Serve, "serve")
def serve(request: _Serve) -> None:
    """Lists from posted histories, similar items, search, statement, health and metrics. It holds no ratings, logs no
    histories and draws no noise. It listens on this machine alone; a proxy in front of it ends TLS and limits what one
    address may ask (deploy/nginx.conf).

    A new model put in the place of the old one is served without a pause.

    \b
    Examples:
      discreet serve model/
      curl -H 'content-type: application/json' -d '{"history": [{"item": "item-17", "rating": 5}]}' \\
        http://127.0.0.1:8080/recommend
      discreet serve model/ --host 0.0.0.0 --anyone --token-file token
    """
    needs("a service", "serve", "starlette", "uvicorn", "prometheus_client")
    from discreet.web.server import read_token
    from discreet.web.service import ServiceSettings
    from discreet.web.service import serve as serve_model

    options = request.model_dump(exclude={"as_json", "token_file"})
    settings = ServiceSettings(token=read_token(request.token_file), **options)

    def ready(address: str) -> None:
        request.tell(Answer({"address": address}, f"Serving {settings.model} at {address}; Ctrl-C ends it."))

    try:
        serve_model(settings, ready)
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)


class _AddItems(Output, NewModel):
    model: str = argument("MODEL")
    items: str = argument("ITEMS")
    catalogue_column: str | None = option(
        "Column of the ids, if it is not the only one, nor called item, item_id or id."
    )


@takes(_AddItems, "add-items")
def add_items(request: _AddItems) -> Answer:
    """ITEMS is a table (CSV, TSV, Parquet, NDJSON) of the new items alone, with the columns that the model was trained
    with (--features); a column called title gives titles. New items are recommended like others and marked as guesses.
    This costs no privacy budget.

    \b
    Example:
      discreet add-items model/ new-items.csv --out model-with-new/
    """
    check_target(request.out, overwrite=request.force)
    model = Model.load(request.model)
    new = Catalogue.from_file(request.items, request.catalogue_column)
    try:
        # Blank lines at the end are no items.
        table = scan_items(request.items).table.head(len(new)).collect()
    except TABLE_ERRORS as error:
        raise CatalogueInvalid(f"the items {request.items} cannot be read: {error}") from error
    longer = model.with_items(new.ids.tolist(), table, new.titles)
    longer.save(request.out, overwrite=request.force)
    added, items = len(new), len(longer.catalogue)
    words = f"{added:,} items added, {items:,} in all; the model is in {request.out}"
    return Answer({"added": added, "items": items, "out": request.out}, words)
