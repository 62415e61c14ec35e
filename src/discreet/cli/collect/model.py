"""``discreet collect model``: what a task has released, as a model."""

from __future__ import annotations

import click

from discreet.cli.collect.options import admin_options, connect
from discreet.cli.output import print_json, printer
from discreet.model.storage import check_target

__all__ = ["model_command"]


@click.command("model")
@admin_options
@click.argument("task")
@click.option("--out", required=True, metavar="DIR", help="Where to put the model.")
@click.option("--force", is_flag=True, help="Replace a model that is there already.")
def model_command(
    url: str, token_file: str | None, authorities: str | None, as_json: bool, task: str, out: str, force: bool
) -> None:
    """Save what TASK on the collector at URL has released so far as a model, with its statement.

    While rounds are still to come, the statement says what devices may have paid up to now.

    \b
    Example:
      discreet collect model http://127.0.0.1:8642 films --out model/
    """
    from discreet.devices.collector.model import fetch_model

    check_target(out, overwrite=force)
    model = fetch_model(connect(url, token_file, authorities), task)
    model.save(out, overwrite=force)
    statement = model.statement
    if as_json:
        content = {"out": out, "items": model.item_side.n_items, "rank": model.item_side.rank}
        print_json({**content, "epsilon": statement.epsilon, "answers": len(statement.releases)})
    else:
        console = printer()
        console.print(f"{model!r} saved in {out}.")
        console.print(str(statement))
