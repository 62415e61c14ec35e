"""``discreet collect task``: create a task on a running collector, look at it, end its rounds."""

from __future__ import annotations

import json

import click

from discreet.cli.collect.options import admin_options, connect, say
from discreet.cli.setting_options import merge_settings

__all__ = [
    "close_command",
    "count_command",
    "create_command",
    "delete_command",
    "show_command",
    "task_command",
]


@click.group("task")
def task_command() -> None:
    """Create a task on a running collector, look at it, end its rounds."""


@task_command.command("create")
@admin_options
@click.argument("task")
@click.option(
    "--catalogue", required=True, metavar="FILE", help="The public items, with titles where there are any."
)
@click.option("--item-column", metavar="C", help="Column of the ids, if it is not item, item_id or id.")
@click.option("--rating-range", required=True, type=float, nargs=2, help="Lowest and highest rating.")
@click.option("--epsilon", required=True, type=float, help="What one device spends in all rounds together.")
@click.option("--minimum", default=1000, show_default=True, help="Reports a round needs before its release.")
@click.option("--enough", type=click.IntRange(1), help="Reports with which a round ends by itself.")
@click.option(
    "--hours", type=float, help="Hours after which a round ends by itself, if the minimum is there."
)
@click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="A setting of the learner; repeatable."
)
@click.pass_context
def create_command(
    ctx: click.Context,
    /,
    url: str,
    token_file: str | None,
    authorities: str | None,
    as_json: bool,
    task: str,
    catalogue: str,
    item_column: str | None,
    rating_range: tuple[float, float],
    epsilon: float,
    minimum: int,
    enough: int | None,
    hours: float | None,
    sets: tuple[str, ...],
) -> None:
    """Create TASK on the collector at URL and open its first round.

    The item list goes to the collector and into the model; devices compare its digest with that of their own.

    \b
    Example:
      discreet collect task create http://127.0.0.1:8642 films --catalogue items.csv \\
          --rating-range 1 5 --epsilon 4
    """
    from discreet.catalogue import Catalogue
    from discreet.devices.collector.task_config import make_config

    config = make_config(
        task,
        Catalogue.from_file(catalogue, item_column),
        rating_range,
        epsilon,
        merge_settings(ctx, sets),
        minimum,
        enough,
        hours,
    )
    say(connect(url, token_file, authorities).create(config), as_json)


@task_command.command("show")
@admin_options
@click.argument("task", required=False)
def show_command(
    url: str, token_file: str | None, authorities: str | None, as_json: bool, task: str | None
) -> None:
    """List the tasks of the collector at URL, or show TASK's terms and open question.

    \b
    Example:
      discreet collect task show http://127.0.0.1:8642 films
    """
    admin = connect(url, token_file, authorities)
    if task is None:
        say({"tasks": admin.tasks()}, as_json)
    else:
        question = admin.question(task)
        asked = None if question is None else json.loads(question.to_json())
        say({"terms": admin.terms(task), "question": asked}, as_json)


@task_command.command("close")
@admin_options
@click.argument("task")
@click.argument("number", metavar="ROUND", type=int)
def close_command(
    url: str, token_file: str | None, authorities: str | None, as_json: bool, task: str, number: int
) -> None:
    """End ROUND of TASK, release it and open the next; refused until enough devices have answered.

    \b
    Example:
      discreet collect task close http://127.0.0.1:8642 films 1
    """
    say(connect(url, token_file, authorities).close(task, number), as_json)


@task_command.command("count")
@admin_options
@click.argument("task")
def count_command(
    url: str, token_file: str | None, authorities: str | None, as_json: bool, task: str
) -> None:
    """Show TASK's open round (0 at its end) and how many reports it has; for whoever runs the collector.

    \b
    Example:
      discreet collect task count http://127.0.0.1:8642 films
    """
    say(connect(url, token_file, authorities).count(task), as_json)


@task_command.command("delete")
@admin_options
@click.argument("task")
@click.option("--all", "everything", is_flag=True, help="The whole task, which must have ended.")
def delete_command(
    url: str, token_file: str | None, authorities: str | None, as_json: bool, task: str, everything: bool
) -> None:
    """Delete the reports of TASK's released rounds, or all of it; what is deleted is overwritten.

    What was released does not change, and can be fetched until the task itself is deleted.

    \b
    Example:
      discreet collect task delete http://127.0.0.1:8642 films
    """
    what = "task" if everything else "reports"
    say(connect(url, token_file, authorities).delete(task, what), as_json)
