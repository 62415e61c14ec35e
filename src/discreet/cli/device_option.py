"""``--device`` of commands that rank items for many people."""

from __future__ import annotations

import click

from discreet.engines.devices import check_present

__all__ = ["device_option"]


def _checked(context: click.Context, option: click.Parameter, device: str) -> str:
    check_present(device)
    return device


device_option = click.option(
    "--device",
    metavar="cpu|cuda",
    default="cpu",
    show_default=True,
    callback=_checked,
    help="Where items are ranked; cuda: a GPU (extra gpu). Equal scores but for the last bit.",
)
