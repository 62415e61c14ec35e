"""``discreet collect``: the collector of answers from devices, its tasks, the model, and a run with real devices."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from discreet.cli.output import json_option, print_json, printer, progress_bar
from discreet.cli.settings import read_settings, set_option
from discreet.errors import SettingsInvalid
from discreet.model.storage import check_target

__all__ = ["command"]

_file = click.Path(path_type=Path)


class _InOrder(click.Group):
    """Commands in the order they are worth reading."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group("collect", cls=_InOrder)
def command() -> None:
    """Collect one noisy bit per device and round; there is nothing in it to trust.

    \b
    Example, all on this machine:
      discreet collect simulate --devices 300 --items 40 --ratings 10 --out model/
    \b
    In earnest:
      discreet collect serve --store collector.sqlite    (one machine)
      discreet collect task create URL films ...         (once; opens the first round)
      discreet collect task close URL films 1            (when enough devices have answered; opens the next)
      discreet collect model URL films --out model/      (after any release)
    """


@command.command("simulate")
@click.option("--devices", default=2000, show_default=True, type=click.IntRange(8), help="How many.")
@click.option(
    "--items", default=200, show_default=True, type=click.IntRange(2), help="Size of the catalogue."
)
@click.option(
    "--ratings", default=30, show_default=True, type=click.IntRange(2), help="Of a device, on average."
)
@click.option("--epsilon", default=4.0, show_default=True, help="What one device spends in all.")
@click.option("--minimum", type=int, help="Reports a round needs; default: an eighth of the devices.")
@set_option
@click.option("--out", metavar="DIR", help="Where to put the model, if anywhere.")
@click.option("--force", is_flag=True, help="Replace a model that is there already.")
@json_option
def _simulate(
    devices: int,
    items: int,
    ratings: int,
    epsilon: float,
    minimum: int | None,
    sets: tuple[str, ...],
    out: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Run real devices, each with its own file, against a real collector on this machine, through all rounds.

    The ratings are made up. Shows what a round costs a device, and what the model is worth beside what is free.

    \b
    Example:
      discreet collect simulate --devices 300 --items 40 --ratings 10 --out model/
    """
    _check_extra()
    from discreet.data.splits import by_rating
    from discreet.data.synthetic import market
    from discreet.devices.loopback import run_on_loopback
    from discreet.devices.schedule import DeviceSettings

    if out is not None:
        check_target(out, overwrite=force)
    settings = DeviceSettings.checked(**read_settings(sets))
    train, test = by_rating(market(devices, items, devices * ratings), (0.9, 0.1))
    started = time.perf_counter()
    with progress_bar() as report:
        least = minimum or max(1, devices // 8)
        found = run_on_loopback(train, test, epsilon, settings, least, report)
    content = {"devices": devices, "items": items, "epsilon": epsilon, **found.measured}
    if out is not None:
        found.model.save(out, overwrite=force)
        content["out"] = out
    content["seconds"] = time.perf_counter() - started
    if as_json:
        print_json(content)
        return
    console = printer()
    for name, value in content.items():
        console.print(
            f"{name.replace('_', ' '):28} {value:.4g}" if isinstance(value, float) else f"{name:28} {value}"
        )
    for note in found.model.notes:
        console.print(f"Note: {note}.")


@command.command("serve")
@click.option("--store", required=True, type=_file, help="File that holds everything.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8642, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one."
)
@click.option("--behind-proxy", is_flag=True, help="Something in front of it ends TLS.")
@click.option("--token-file", help="File with the token that whoever runs it needs.")
@click.option("--device-token-file", help="File with a token that devices need.")
@click.option(
    "--allow-origin",
    multiple=True,
    metavar="ORIGIN",
    help="Origin of web pages that may be devices, such as https://shop.example; repeatable.",
)
@click.option("--quiet", is_flag=True, help="No log of JSON lines on standard error.")
@click.option("--tick", default=10.0, show_default=True, help="Seconds between two looks at what is due.")
@click.option(
    "--keep-days", type=float, help="Delete a round's reports so long after its release; default: never."
)
@json_option
def _serve(
    as_json: bool, token_file: str | None, device_token_file: str | None, quiet: bool, **options: Any
) -> None:
    """Serve a collector until Ctrl-C.

    It listens on this machine alone unless there is a proxy in front of it and a token. No addresses are stored or
    logged; refusals are counted by kind. A report is answered once it is on disk.

    \b
    Example:
      discreet collect serve --store collector.sqlite
    """
    _check_extra()
    from discreet.devices.collector.app import CollectorSettings, serve
    from discreet.web.server import read_token

    tokens = {"token": read_token(token_file), "device_token": read_token(device_token_file)}
    try:
        settings = CollectorSettings(log=not quiet, **tokens, **options)
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsInvalid(f"{first['loc'][0]}: {first['msg']}") from None

    def ready(address: str) -> None:
        if as_json:
            print_json({"address": address})
        else:
            click.echo(f"Collecting at {address}; Ctrl-C ends it.")

    try:
        serve(settings, ready)
    except KeyboardInterrupt:
        click.echo("Stopped; everything that was accepted is stored.", err=True)


@command.group("task")
def _task() -> None:
    """Create a task on a running collector, look at it, end its rounds."""


def _asks(function: Callable[..., None]) -> Any:
    """The function with what every command to a running collector takes: its first argument is the collector."""

    def run(url: str, token_file: str | None, authorities: str | None, **options: Any) -> None:
        from discreet.devices.collector.admin import Admin
        from discreet.web.server import read_token

        function(Admin(url, read_token(token_file), authorities), **options)

    run.__doc__ = function.__doc__
    run.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    trusted = "File with the certificates to trust, if not the system's."
    taken: Any = click.option("--authorities", help=trusted)(json_option(run))
    return click.argument("url")(click.option("--token-file", help="File with the collector's token.")(taken))


@_task.command("create")
@_asks
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
@set_option
def _create(
    admin: Any, catalogue: str, item_column: str | None, sets: tuple[str, ...], as_json: bool, **task: Any
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

    settings = read_settings(sets)
    items = Catalogue.from_file(catalogue, item_column)
    _say(admin.create(make_config(catalogue=items, settings=settings, **task)), as_json)


@_task.command("show")
@_asks
@click.argument("task", required=False)
def _show(admin: Any, task: str | None, as_json: bool) -> None:
    """List the tasks of the collector at URL, or show TASK's terms and open question.

    \b
    Example:
      discreet collect task show http://127.0.0.1:8642 films
    """
    if task is None:
        _say({"tasks": admin.tasks()}, as_json)
        return
    question = admin.question(task)
    asked = None if question is None else json.loads(question.to_json())
    _say({"terms": admin.terms(task), "question": asked}, as_json)


@_task.command("close")
@_asks
@click.argument("task")
@click.argument("number", metavar="ROUND", type=int)
def _close(admin: Any, task: str, number: int, as_json: bool) -> None:
    """End ROUND of TASK, release it and open the next; refused until enough devices have answered.

    \b
    Example:
      discreet collect task close http://127.0.0.1:8642 films 1
    """
    _say(admin.close(task, number), as_json)


@_task.command("count")
@_asks
@click.argument("task")
def _count(admin: Any, task: str, as_json: bool) -> None:
    """Show TASK's open round (0 at its end) and how many reports it has; for whoever runs the collector.

    \b
    Example:
      discreet collect task count http://127.0.0.1:8642 films
    """
    _say(admin.count(task), as_json)


@_task.command("delete")
@_asks
@click.argument("task")
@click.option("--all", "everything", is_flag=True, help="The whole task, which must have ended.")
def _delete(admin: Any, task: str, everything: bool, as_json: bool) -> None:
    """Delete the reports of TASK's released rounds, or all of it; what is deleted is overwritten.

    What was released does not change, and can be fetched until the task itself is deleted.

    \b
    Example:
      discreet collect task delete http://127.0.0.1:8642 films
    """
    _say(admin.delete(task, "task" if everything else "reports"), as_json)


@command.command("model")
@_asks
@click.argument("task")
@click.option("--out", required=True, metavar="DIR", help="Where to put the model.")
@click.option("--force", is_flag=True, help="Replace a model that is there already.")
def _model(admin: Any, task: str, out: str, force: bool, as_json: bool) -> None:
    """Save what TASK on the collector at URL has released so far as a model, with its statement.

    While rounds are still to come, the statement says what devices may have paid up to now.

    \b
    Example:
      discreet collect model http://127.0.0.1:8642 films --out model/
    """
    from discreet.devices.collector.admin import fetch_model

    check_target(out, overwrite=force)
    model = fetch_model(admin, task)
    model.save(out, overwrite=force)
    statement = model.statement
    if as_json:
        content = {"out": out, "items": model.item_side.n_items, "rank": model.item_side.rank}
        print_json({**content, "epsilon": statement.epsilon, "answers": len(statement.releases)})
        return
    console = printer()
    console.print(f"{model!r} saved in {out}.")
    console.print(str(statement))
    for note in model.notes:
        console.print(f"Note: {note}.")


@command.command("backup")
@click.option("--store", required=True, type=_file, help="The collector's store.")
@click.option("--out", required=True, type=_file, help="Where to put the copy.")
@json_option
def _backup(store: Path, out: Path, as_json: bool) -> None:
    """Copy the store of a collector, running or not, as it is at one moment.

    The copy has everything the store has.

    \b
    Example:
      discreet collect backup --store collector.sqlite --out monday.sqlite
    """
    from discreet.devices.collector.store import back_up

    back_up(store, out)
    _say({"out": str(out), "bytes": out.stat().st_size}, as_json)


@command.command("restore")
@click.argument("backup", type=_file)
@click.option("--store", required=True, type=_file, help="Where to; no file may be there.")
@json_option
def _restore(backup: Path, store: Path, as_json: bool) -> None:
    """Make a store from BACKUP, checked, for a collector that is to be started.

    What was accepted after the copy was taken is lost: devices do not send it again.

    \b
    Example:
      discreet collect restore monday.sqlite --store collector.sqlite
    """
    _check_extra()
    from discreet.devices.collector.store import restore
    from discreet.devices.collector.tasks import read_tasks

    tasks = restore(backup, store, lambda opened: len(read_tasks(opened)))
    _say({"store": str(store), "tasks": tasks}, as_json)


def _say(content: dict[str, Any], as_json: bool) -> None:
    """Print an answer, as JSON or line by line."""
    if as_json:
        print_json(content)
        return
    for name, value in content.items():
        click.echo(f"{name}: {value}")


def _check_extra() -> None:
    """Refuse where the collector's own packages are missing."""
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise SettingsInvalid(
            "a collector needs starlette and uvicorn; install them with: pip install 'discreet[serve]'"
        )
