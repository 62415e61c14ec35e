"""Options shared by the commands that train a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from discreet.cli.columns import column_options, features_option, file_options
from discreet.cli.goal import goal_option
from discreet.cli.ledger_option import ledger_options
from discreet.cli.output import json_option
from discreet.cli.row_options import row_options
from discreet.cli.setting_options import (
    auto_option,
    config_option,
    rating_range_option,
    set_option,
)
from discreet.methods.registry import DEFAULTS, METHODS

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
    file_options,
    rating_range_option,
    click.option(
        "--implicit",
        is_flag=True,
        help="Say that there are no ratings: a row means that the user chose the item.",
    ),
    click.option("--catalogue", metavar="FILE", help="Public list of items (CSV, Parquet, NDJSON or text)."),
    click.option(
        "--catalogue-column", metavar="NAME", help="Its column of item ids.  [default: item, item_id or id]"
    ),
    features_option,
    click.option("--epsilon", help="Privacy parameter epsilon."),
    click.option("--delta", help="Privacy parameter delta; well below 1 / users."),
    click.option(
        "--method",
        metavar="NAME|PACKAGE:CLASS",
        help=f"{', '.join(METHODS)}, or another package's class. als is not private; user-mean releases nothing.  "
        f"[default: {DEFAULTS['rank'].method_name()}, or {DEFAULTS['rate'].method_name()} for --goal rate]",
    ),
    goal_option,
    auto_option("--rank", 0, "Number of factors; 0: offsets alone; auto: the method's own choice."),
    auto_option("--rounds", 1, "Rounds of training; auto: the method's own choice."),
    set_option("Another setting of the method; repeatable."),
    config_option,
    row_options("drop"),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        help="Seed of the ordinary random stream; never of the privacy noise.",
    ),
    ledger_options,
    click.option("--out", required=True, metavar="DIR", help="Directory to put the model into."),
    click.option("--force", is_flag=True, help="Replace a model that is already there."),
    json_option,
)
