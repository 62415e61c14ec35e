"""``discreet collect``: the collector of the local model, its tasks, and a rehearsal with thousands of devices."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from discreet.cli.output import json_option, print_json, printer, progress_bar
from discreet.cli.settings import merge_settings
from discreet.errors import SettingsInvalid

__all__ = [
    "close_command",
    "command",
    "create_command",
    "serve_command",
    "show_command",
    "simulate_command",
    "task_group",
]


def _check_extra() -> None:
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn")):
        raise SettingsInvalid(
            "a collector needs fastapi and uvicorn; install them with: pip install 'discreet[serve]'"
        )


@click.group("collect")
def command() -> None:
    """Collect one noisy bit per device and round; there is nothing in it to trust.

    \b
    Example, all on this machine:
      discreet collect simulate --devices 300 --items 40 --ratings 10
    """


@command.command("serve")
@click.option("--store", required=True, type=click.Path(path_type=Path), help="File that holds everything.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8642, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one."
)
@click.option("--certificate", type=click.Path(path_type=Path), help="TLS certificate (PEM).")
@click.option("--key", type=click.Path(path_type=Path), help="Its key (PEM).")
@click.option("--token-file", help="File with the token that creating tasks and ending rounds needs.")
@click.option("--device-token-file", help="File with a token that devices need.")
@click.option(
    "--rate", default=100.0, show_default=True, help="Requests a second from one address; 0: no limit."
)
@click.option("--burst", default=400.0, show_default=True, help="How many of them at once.")
@click.option("--connections", default=64, show_default=True, help="Most open connections of one address.")
@click.option("--all-connections", default=4096, show_default=True, help="Most open connections.")
@json_option
def serve_command(
    as_json: bool, token_file: str | None, device_token_file: str | None, **options: Any
) -> None:
    """Serve a collector until Ctrl-C.

    It listens on this machine alone unless there is a certificate and a token. No addresses are stored or
    logged. A report is answered once it is on disk.

    \b
    Example:
      discreet collect serve --store collector.sqlite
    """
    _check_extra()
    from discreet.devices.collector.serve import serve
    from discreet.devices.collector.settings import CollectorSettings, read_token

    try:
        settings = CollectorSettings(
            token=read_token(token_file), device_token=read_token(device_token_file), **options
        )
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
def task_group() -> None:
    """Create a task on a running collector, look at it, end its rounds."""


def _admin_options(function: Any) -> Any:
    for option in (
        json_option,
        click.option("--authorities", help="File with the certificates to trust, if not the system's."),
        click.option("--token-file", help="File with the collector's token."),
        click.argument("url"),
    ):
        function = option(function)
    return function


def _admin(url: str, token_file: str | None, authorities: str | None) -> Any:
    from discreet.devices.collector.admin import Admin
    from discreet.devices.collector.settings import read_token

    return Admin(url, read_token(token_file), authorities)


def _say(content: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(content)
    else:
        for name, value in content.items():
            click.echo(f"{name}: {value}")


@task_group.command("create")
@_admin_options
@click.argument("task")
@click.option("--items", required=True, type=int, help="Size of the catalogue.")
@click.option("--rating-range", required=True, type=float, nargs=2, help="Lowest and highest rating.")
@click.option("--epsilon", required=True, type=float, help="What one device spends in all rounds together.")
@click.option("--minimum", default=1000, show_default=True, help="Reports a round needs before its release.")
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
    items: int,
    rating_range: tuple[float, float],
    epsilon: float,
    minimum: int,
    sets: tuple[str, ...],
) -> None:
    """Create TASK on the collector at URL and open its first round.

    \b
    Example:
      discreet collect task create http://127.0.0.1:8642 films --items 200 --rating-range 1 5 --epsilon 4
    """
    order = {
        "task": task,
        "items": items,
        "range": list(rating_range),
        "epsilon": epsilon,
        "minimum": minimum,
    }
    order["settings"] = merge_settings(ctx, sets)
    _say(_admin(url, token_file, authorities).create(order), as_json)


@task_group.command("show")
@_admin_options
@click.argument("task", required=False)
def show_command(
    url: str, token_file: str | None, authorities: str | None, as_json: bool, task: str | None
) -> None:
    """List the tasks of the collector at URL, or show TASK's terms and open question.

    \b
    Example:
      discreet collect task show http://127.0.0.1:8642 films
    """
    admin = _admin(url, token_file, authorities)
    if task is None:
        _say({"tasks": admin.tasks()}, as_json)
    else:
        _say({"terms": admin.terms(task), "question": admin.question(task)}, as_json)


@task_group.command("close")
@_admin_options
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
    _say(_admin(url, token_file, authorities).close(task, number), as_json)


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
@click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="A setting of the learner; repeatable."
)
@json_option
@click.pass_context
def simulate_command(
    ctx: click.Context,
    /,
    devices: int,
    items: int,
    ratings: int,
    epsilon: float,
    minimum: int | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run real devices, each with its own file, against a real collector on this machine, through all rounds.

    The ratings are made up. Shows what a round costs a device, and the error of its own predictions beside the
    mean of its own ratings, which is free.

    \b
    Example:
      discreet collect simulate --devices 300 --items 40 --ratings 10
    """
    _check_extra()
    from discreet.data.splits import by_rating
    from discreet.data.synthetic import market
    from discreet.devices.plan import LocalSettings
    from discreet.devices.rehearsal import run_devices

    settings = LocalSettings.checked(**merge_settings(ctx, sets))
    train, test = by_rating(market(devices, items, devices * ratings), (0.9, 0.1))
    started = time.perf_counter()
    with progress_bar() as report:
        found = run_devices(train, test, epsilon, settings, minimum or max(1, devices // 8), report)
    content = {"devices": devices, "items": items, "epsilon": epsilon, **found}
    content["seconds"] = time.perf_counter() - started
    if as_json:
        print_json(content)
        return
    console = printer()
    for name, value in content.items():
        console.print(
            f"{name.replace('_', ' '):28} {value:.4g}" if isinstance(value, float) else f"{name:28} {value}"
        )
