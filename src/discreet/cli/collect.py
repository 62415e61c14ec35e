"""``discreet collect``: the collector of answers from devices, its tasks, the model, and a run with real devices."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import ValidationError

from discreet.cli.group import needs
from discreet.cli.options import Sets, read_settings
from discreet.cli.output import Answer, NewModel, Output, Replaces, progress_bar
from discreet.cli.request import argument, group, option, takes
from discreet.errors import SettingsInvalid
from discreet.model.storage import check_target

if TYPE_CHECKING:
    from discreet.devices.collector.admin import Admin
    from discreet.model import Model

__all__ = ["command"]


@group("collect")
def command() -> None:
    """\b
    Example, all on this machine:
      discreet collect simulate --devices 300 --items 40 --ratings 10 --out model/
    \b
    In earnest:
      discreet collect serve --store collector.sqlite    (one machine)
      discreet collect task create URL films ...         (once; opens the first round)
      discreet collect task close URL films 1            (when enough devices have answered; opens the next)
      discreet collect model URL films --out model/      (after any release)
    """


class _Simulate(Sets, Replaces, Output):
    devices: int = option("How many.", 2000, ge=8)
    items: int = option("Size of the catalogue.", 200, ge=2)
    ratings: int = option("Of a device, on average.", 30, ge=2)
    epsilon: float = option("What one device spends in all.", 4.0)
    minimum: int | None = option("Reports a round needs; default: an eighth of the devices.")
    out: str | None = option("Where to put the model, if anywhere.", metavar="DIR")


@takes(_Simulate, "simulate", inside=command)
def _simulate(request: _Simulate) -> Answer:
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
    from discreet.devices.task import DeviceSettings

    if request.out is not None:
        check_target(request.out, overwrite=request.force)
    settings = DeviceSettings.checked(**read_settings(request.sets))
    devices, items = request.devices, request.items
    train, test = by_rating(market(devices, items, devices * request.ratings), (0.9, 0.1))
    started = time.perf_counter()
    with progress_bar() as report:
        least = request.minimum or max(1, devices // 8)
        model, measured = run_on_loopback(train, test, request.epsilon, settings, least, report)
    content = {"devices": devices, "items": items, "epsilon": request.epsilon, **measured}
    if request.out is not None:
        model.save(request.out, overwrite=request.force)
        content["out"] = request.out
    content["seconds"] = time.perf_counter() - started
    lines = [
        f"{name.replace('_', ' '):28} {value:.4g}" if isinstance(value, float) else f"{name:28} {value}"
        for name, value in content.items()
    ]
    return Answer(content, "\n".join((*lines, *_notes(model))))


class _Serve(Output):
    store: Path = option("File that holds everything.")
    host: str = option("Address to listen on.", "127.0.0.1")
    port: int = option("0 takes a free one.", 8642, ge=0, le=65535)
    behind_proxy: bool = option("Something in front of it ends TLS.")
    token_file: str | None = option("File with the token that whoever runs it needs.")
    device_token_file: str | None = option("File with a token that devices need.")
    allow_origin: tuple[str, ...] = option(
        "Origin of web pages that may be devices, such as https://shop.example; repeatable.", metavar="ORIGIN"
    )
    quiet: bool = option("No log of JSON lines on standard error.")


@takes(_Serve, "serve", inside=command)
def _serve(request: _Serve) -> None:
    """Serve a collector until Ctrl-C.

    It listens on this machine alone unless there is a proxy in front of it and a token. No addresses are stored or
    logged; refusals are counted by kind. A report is answered once it is on disk.

    \b
    Example:
      discreet collect serve --store collector.sqlite
    """
    _check_extra()
    from discreet.devices.collector.app import CollectorSettings, serve
    from discreet.web.server import explain, read_token

    options = request.model_dump(exclude={"as_json", "token_file", "device_token_file", "quiet"})
    tokens = {"token": read_token(request.token_file), "device_token": read_token(request.device_token_file)}
    try:
        settings = CollectorSettings(log=not request.quiet, **tokens, **options)
    except ValidationError as error:
        raise SettingsInvalid(explain(error.errors())) from None

    def ready(address: str) -> None:
        request.tell(Answer({"address": address}, f"Collecting at {address}; Ctrl-C ends it."))

    try:
        serve(settings, ready)
    except KeyboardInterrupt:
        click.echo("Stopped; everything that was accepted is stored.", err=True)


@command.group("task")
def _task() -> None:
    """Create a task on a running collector, count its reports, end its rounds."""


class _Running(Output):
    """Of a collector that runs."""

    url: str = argument("URL")
    task: str = argument("TASK")
    token_file: str | None = option("File with the collector's token.")

    def admin(self) -> Admin:
        _check_extra()
        from discreet.devices.collector.admin import Admin
        from discreet.web.server import read_token

        return Admin(self.url, read_token(self.token_file))


class _Create(Sets, _Running):
    catalogue: str = option("The public items, with titles where there are any.", metavar="FILE")
    catalogue_column: str | None = option("Its column of item ids.  [default: item, item_id or id]")
    rating_range: tuple[float, float] = option("Lowest and highest rating.")
    epsilon: float = option("What one device spends in all rounds together.")
    minimum: int = option("Reports a round needs before its release.", 1000)
    enough: int | None = option("Reports with which a round ends by itself.", ge=1)
    hours: float | None = option("Hours after which a round ends by itself, if the minimum is there.")


@takes(_Create, "create", inside=_task)
def _create(request: _Create) -> dict[str, Any]:
    """Create TASK on the collector at URL and open its first round.

    The item list goes to the collector and into the model; devices compare its digest with that of their own.

    \b
    Example:
      discreet collect task create http://127.0.0.1:8642 films --catalogue items.csv \\
          --rating-range 1 5 --epsilon 4
    """
    admin = request.admin()
    from discreet.catalogue import Catalogue
    from discreet.devices.collector.task_config import make_config

    given = request.model_dump(include={"task", "epsilon", "minimum", "enough", "hours"})
    items = Catalogue.from_file(request.catalogue, request.catalogue_column)
    config = make_config(items, read_settings(request.sets), range=request.rating_range, **given)
    return admin.create(config)


class _Close(_Running):
    number: int = argument("ROUND")


@takes(_Close, "close", inside=_task)
def _close(request: _Close) -> dict[str, Any]:
    """End ROUND of TASK, release it and open the next; refused until enough devices have answered.

    \b
    Example:
      discreet collect task close http://127.0.0.1:8642 films 1
    """
    return request.admin().close(request.task, request.number)


@takes(_Running, "count", inside=_task)
def _count(request: _Running) -> dict[str, Any]:
    """Show TASK's open round (0 at its end) and how many reports it has; for whoever runs the collector.

    \b
    Example:
      discreet collect task count http://127.0.0.1:8642 films
    """
    return request.admin().count(request.task)


class _Delete(_Running):
    everything: bool = option("The whole task, which must have ended.", name="--all")


@takes(_Delete, "delete", inside=_task)
def _delete(request: _Delete) -> dict[str, Any]:
    """Delete the reports of TASK's released rounds, or all of it; what is deleted is overwritten.

    What was released does not change, and can be fetched until the task itself is deleted.

    \b
    Example:
      discreet collect task delete http://127.0.0.1:8642 films
    """
    what = {"what": "task" if request.everything else "reports"}
    return request.admin().ask("deleted", request.task, "/delete", what)


class _Model(_Running, NewModel):
    """Of a task."""


@takes(_Model, "model", inside=command)
def _model(request: _Model) -> Answer:
    """Save what TASK on the collector at URL has released so far as a model, with its statement.

    While rounds are still to come, the statement says what devices may have paid up to now.

    \b
    Example:
      discreet collect model http://127.0.0.1:8642 films --out model/
    """
    admin = request.admin()
    from discreet.devices.collector.admin import fetch_model

    check_target(request.out, overwrite=request.force)
    model = fetch_model(admin, request.task)
    model.save(request.out, overwrite=request.force)
    side, statement = model.item_side, model.statement
    content = {"out": request.out, "items": side.n_items, "rank": side.rank}
    content |= {"epsilon": statement.epsilon, "answers": len(statement.releases)}
    saved = f"{model!r} saved in {request.out}."
    return Answer(content, "\n".join((saved, str(statement), *_notes(model))))


class _Backup(Output):
    store: Path = option("The collector's store.")
    out: Path = option("Where to put the copy.")


@takes(_Backup, "backup", inside=command)
def _backup(request: _Backup) -> dict[str, Any]:
    """Copy the store of a collector, running or not, as it is at one moment.

    The copy has everything the store has.

    \b
    Example:
      discreet collect backup --store collector.sqlite --out monday.sqlite
    """
    from discreet.devices.collector.store import back_up

    back_up(request.store, request.out)
    return {"out": str(request.out), "bytes": request.out.stat().st_size}


class _Restore(Output):
    backup: Path = argument("BACKUP")
    store: Path = option("Where to; no file may be there.")


@takes(_Restore, "restore", inside=command)
def _restore(request: _Restore) -> dict[str, Any]:
    """Make a store from BACKUP, checked, for a collector that is to be started.

    What was accepted after the copy was taken is lost: devices do not send it again.

    \b
    Example:
      discreet collect restore monday.sqlite --store collector.sqlite
    """
    _check_extra()
    from discreet.devices.collector.store import restore
    from discreet.devices.collector.tasks import read_tasks

    tasks = restore(request.backup, request.store, lambda opened: len(read_tasks(opened)))
    return {"store": str(request.store), "tasks": tasks}


def _notes(model: Model) -> list[str]:
    return [f"Note: {note}." for note in model.notes]


def _check_extra() -> None:
    needs("a collector", "serve", "starlette", "uvicorn")
