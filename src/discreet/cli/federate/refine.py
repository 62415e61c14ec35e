"""``discreet federate refine``: a silo's own model, from the federated one and the silo's own ratings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from discreet.cli.columns import column_options, file_options
from discreet.cli.holder import counts, show_holder
from discreet.cli.model_ratings import read_ratings_for
from discreet.cli.output import json_option, print_json, printer, progress_bar
from discreet.cli.row_options import row_options
from discreet.model import Model
from discreet.model.storage import check_target
from discreet.silos.own.own_model import OwnModel, refine

__all__ = ["refine_command"]

_WORDS = {
    "federated": "The federated model suits this silo's users as it is; a copy of it was saved.",
    "alone": "A model of this silo's ratings alone suits its users best; the federated model took no part in it.",
    "refined": "The federated model was moved towards this silo's users.",
}


@click.command("refine")
@click.argument("model_directory", metavar="MODEL")
@click.option("--ratings", required=True, metavar="RATINGS", help="This silo's ratings: a file or a query.")
@column_options
@file_options
@row_options("drop")
@click.option("--seed", type=click.IntRange(0), help="Of what is held out, and of the start.")
@click.option("--out", required=True, metavar="DIR", help="Directory to put this silo's own model into.")
@click.option("--force", is_flag=True, help="Replace a model that is already there.")
@json_option
def refine_command(
    model_directory: str,
    ratings: str,
    seed: int | None,
    out: str,
    force: bool,
    as_json: bool,
    **columns: Any,
) -> None:
    """Make the federated MODEL one silo's own, by that silo's ratings.

    Nothing leaves the silo, so its users' promise towards everybody outside stays. But the new model is computed from
    exact ratings: it is NOT PRIVATE, its statement says so, and it must not leave the silo. Ratings that are held out
    decide how far to go, from leaving the federated model as it is to training alone.

    To get a model that may be shown, spend a budget of its own instead: discreet train --start MODEL.

    \b
    Example:
      discreet federate refine model/ --ratings ours.csv --user user --item item --rating stars --out own/
    """
    started = time.perf_counter()
    check_target(out, overwrite=force)
    model = Model.load(model_directory)
    own_ratings = read_ratings_for(model, ratings, columns)
    with progress_bar() as report:
        own = refine(model, own_ratings, rng=seed, progress=report)
    own.model_.save(out, overwrite=force)
    Path(out).chmod(0o700)
    result = _as_dict(own, model)
    result["holder"] |= {**counts(own_ratings), "seconds": round(time.perf_counter() - started, 3)}
    if as_json:
        print_json(result)
    else:
        _show(own, result, out)


def _as_dict(own: OwnModel, federated: Model) -> dict[str, Any]:
    side, statement = own.model_.item_side, own.model_.statement
    return {
        "method": own.model_.method,
        "goal": own.model_.goal,
        "rank": side.rank,
        "private": statement.private,
        "reason": statement.reason,
        "federated": federated.digest,
        "holder": {"way": own.way_, "measure": own.measure_, "held_out": dict(own.held_out_)},
    }


def _show(own: OwnModel, result: dict[str, Any], out: str) -> None:
    console = printer()
    console.print(_WORDS[own.way_])
    table = Table(title="On held-out ratings of this silo", title_justify="left")
    table.add_column("model")
    table.add_column(own.measure_, justify="right")
    for way, measured in own.held_out_.items():
        table.add_row(f"{way} (chosen)" if way == own.way_ else way, f"{measured:.4f}")
    console.print(table)
    console.print(
        "Each number is on ratings that the model was not trained on; the chosen one is the best of several"
    )
    console.print("and may flatter a little. Judge on ratings of your own with: discreet evaluate")
    console.print(str(own.model_.statement), markup=False)
    console.print(f"Saved to {out}, readable by you alone", markup=False)
    show_holder({key: value for key, value in result["holder"].items() if isinstance(value, int | float)})
