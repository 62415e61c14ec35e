"""The options that every command has that makes a model from ratings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from discreet.central.registry import METHODS
from discreet.cli.columns import column_options
from discreet.cli.output import json_option
from discreet.cli.settings import apply_config, integer_or_auto

__all__ = ["training_options"]

F = TypeVar("F", bound=Callable[..., Any])


def training_options(function: F) -> F:
    """Add RATINGS and what says how to read it, which method with which settings and budget, and where to put it."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("source", metavar="RATINGS"),
    column_options,
    click.option(
        "--rating-range", nargs=2, type=float, metavar="LO HI", help="Lowest and highest possible rating."
    ),
    click.option(
        "--implicit",
        is_flag=True,
        help="Say that there are no ratings: a row means that the user chose the item.",
    ),
    click.option("--catalogue", metavar="FILE", help="Public list of items (CSV, Parquet, NDJSON or text)."),
    click.option("--epsilon", help="Privacy parameter epsilon."),
    click.option("--delta", help="Privacy parameter delta; well below 1 / users."),
    click.option(
        "--method",
        type=click.Choice(list(METHODS)),
        default="budgeted",
        show_default=True,
        help="als is not private; user-mean releases nothing.",
    ),
    click.option(
        "--rank",
        callback=integer_or_auto(0),
        default="auto",
        show_default=True,
        help="Number of factors; 0: offsets alone; auto: the method's own choice.",
    ),
    click.option(
        "--rounds",
        callback=integer_or_auto(1),
        default="auto",
        show_default=True,
        help="Rounds of training; auto: the method's own choice.",
    ),
    click.option(
        "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Another setting of the method; repeatable."
    ),
    click.option(
        "--config",
        is_eager=True,
        expose_value=False,
        callback=apply_config,
        metavar="FILE",
        help="TOML or JSON with any of these options, and a table 'settings' for --set.",
    ),
    click.option(
        "--unknown-items",
        type=click.Choice(["error", "drop"]),
        default="error",
        show_default=True,
        help="Ratings of items that the catalogue lacks.",
    ),
    click.option(
        "--device",
        type=click.Choice(["cpu", "cuda"]),
        default="cpu",
        show_default=True,
        help="Where to compute; this version has kernels for the CPU only.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        help="Seed of the ordinary random stream; never of the privacy noise.",
    ),
    click.option("--out", required=True, metavar="DIR", help="Directory to put the model into."),
    click.option("--force", is_flag=True, help="Replace a model that is already there."),
    json_option,
)
