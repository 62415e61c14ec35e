"""``--device`` of commands that rank items for many people."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import click

from discreet.cli.request import Option

__all__ = ["RankingDevice"]


def _checked(context: click.Context, option: click.Parameter, device: str) -> str:
    if device != "cpu":
        from discreet.engines.gpu import check_present

        check_present(device)
    return device


RankingDevice: TypeAlias = Annotated[
    str,
    Option(
        "Where items are ranked; cuda: a GPU (extra gpu). Equal scores but for the last bit.",
        name="--device",
        metavar="cpu|cuda",
        callback=_checked,
    ),
]
