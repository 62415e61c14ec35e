"""``discreet export index``: item vectors for nearest-neighbour search."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click
import numpy as np

from discreet.cli.histories import read_histories
from discreet.cli.holder import show_holder
from discreet.cli.output import json_option, print_json
from discreet.cli.place_options import Place
from discreet.data.ratings import Ratings
from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_directory
from discreet.model.vector_index import STORED, IndexedItems, Stored
from discreet.types import Floats

__all__ = ["index"]

AT = 10
_PEOPLE, _ITEMS = 1_000, 20
INDEX, ABOUT, IDS = "items.usearch", "about.json", "items.txt"


@click.command("index")
@click.argument("model_directory", metavar="MODEL")
@click.option("--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder to write.")
@click.option(
    "--stored",
    type=click.Choice(list(STORED)),
    default="float32",
    show_default=True,
    help="Precision of the vectors: smaller files, and a little less found.",
)
@click.option(
    "--connectivity",
    type=click.IntRange(2, 512),
    default=32,
    show_default=True,
    help="Neighbours of an item.",
)
@click.option(
    "--expansion",
    type=click.IntRange(AT, 65536),
    default=256,
    show_default=True,
    help="Candidates that a search looks at: more find more, and take longer.",
)
@click.option(
    "--history",
    metavar="FILE",
    help="Histories to measure recall with too, for you alone; what is written is of made-up ones.",
)
@click.option("--force", is_flag=True, help="Replace an index that is there already.")
@json_option
def index(
    model_directory: str,
    out: Path,
    stored: Stored,
    connectivity: int,
    expansion: int,
    history: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write an approximate index of the items (usearch), and say how many of the best items it finds.

    The largest inner products with a person's vector are that person's list; about.json says how to make the vector.
    Recall@10 is measured against exact lists, of made-up histories: the folder may go where the model goes. What
    --history measures is an exact number about people, and is shown to you alone. Needs the extra index.

    \b
    Example:
      discreet export index model/ --out index/
    """
    target = _check_target(out, force)
    model = Model.load(model_directory)
    given = None if history is None else _given(model, history)
    people = _made_up(model)
    items = IndexedItems.build(model, stored, connectivity, expansion)
    told = {
        "items": model.item_side.n_items,
        "dimensions": int(items.index.ndim),
        "metric": "ip",
        "stored": stored,
        "query": "the person's coefficients (fold_in: offset, then factors), then 1, then 0; divided by its length",
        "keys": f"line numbers of {IDS}, from 0",
        "recall_at": AT,
        "recall": items.recall(people, AT),
        "people": len(people),
        "histories": "made-up histories",
        "model": model.digest,
    }
    holder = {} if given is None else {"recall": items.recall(given, AT), "people": len(given)}
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".index-") as folder:
        items.save(Path(folder) / INDEX)
        ids = "".join(f"{name}\n" for name in model.catalogue.ids.tolist())
        files = {INDEX: (Path(folder) / INDEX).read_bytes(), IDS: ids.encode()}
    replace_directory(target, {**files, ABOUT: json.dumps(told, indent=1).encode()})
    if as_json:
        print_json({"out": str(out), **told, **({"holder": holder} if holder else {})})
        return
    click.echo(
        f"{told['items']:,} items in {out}; recall@{AT} {told['recall']:.4f} against exact lists ({len(people):,} "
        "made-up histories)"
    )
    if holder:
        show_holder({f"recall@{AT}": f"{holder['recall']:.4f}", "people": holder["people"]})


def _made_up(model: Model) -> Floats:
    """Coefficients of people who do not exist, to search for."""
    side = model.item_side
    rng, each = np.random.default_rng(0), min(_ITEMS, side.n_items)
    items = np.stack([rng.choice(side.n_items, each, replace=False) for _ in range(_PEOPLE)])
    items.sort(axis=1)
    low, high = side.scale.bounds
    values = rng.uniform(low, high, items.size) if side.scale.explicit else np.ones(items.size)
    indptr = np.arange(_PEOPLE + 1) * each
    return side.fold_in(indptr, items.ravel().astype(np.int32), values)


def _given(model: Model, history: str) -> Floats:
    """Coefficients of real people. Private: nothing that follows from them may be written beside the index."""
    columns: dict[str, str | None] = dict.fromkeys(("user", "item", "rating"))
    with ExitStack() as held:
        found = read_histories(history, model, columns, "error", Place("memory", None, [history], held))
    if not isinstance(found, Ratings):
        raise SettingsInvalid(
            f"{history} has one history; give a table of many users, or leave --history out"
        )
    some = found.take_users(slice(0, _PEOPLE))
    return model.item_side.fold_in(some.indptr, some.items, some.values)


def _check_target(out: Path, force: bool) -> Path:
    target = out.absolute()
    if not target.parent.is_dir():
        raise SettingsInvalid(f"{target.parent} is not a directory; create it first")
    if target.exists():
        ours = target.is_dir() and not target.is_symlink() and (target / INDEX).is_file()
        if not ours and (not target.is_dir() or any(target.iterdir())):
            raise SettingsInvalid(f"{target} has something else in it; choose another name")
        if ours and not force:
            raise SettingsInvalid(
                f"{target} already has an index; choose another name, or replace it with --force"
            )
    return target
