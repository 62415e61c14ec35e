"""``discreet collect simulate``: real devices and a real collector, all on this machine."""

from __future__ import annotations

import time

import click

from discreet.cli.collect.group import check_extra
from discreet.cli.output import json_option, print_json, printer, progress_bar
from discreet.cli.setting_options import merge_settings
from discreet.model.storage import check_target

__all__ = ["simulate_command"]


@click.command("simulate")
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
@click.option("--out", metavar="DIR", help="Where to put the model, if anywhere.")
@click.option("--force", is_flag=True, help="Replace a model that is there already.")
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
    out: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Run real devices, each with its own file, against a real collector on this machine, through all rounds.

    The ratings are made up. Shows what a round costs a device, and the error of its own predictions beside the
    mean of its own ratings, which is free.

    \b
    Example:
      discreet collect simulate --devices 300 --items 40 --ratings 10 --out model/
    """
    check_extra()
    from discreet.data.splits import by_rating
    from discreet.data.synthetic import market
    from discreet.devices.loopback import run_on_loopback
    from discreet.devices.settings import DeviceSettings

    if out is not None:
        check_target(out, overwrite=force)
    settings = DeviceSettings.checked(**merge_settings(ctx, sets))
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
