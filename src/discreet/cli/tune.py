"""``discreet tune``: private hyper-parameter search; one budget covers all trials."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from discreet.cli.holder import counts
from discreet.cli.ledger_option import given_ledger
from discreet.cli.output import print_json, spinner
from discreet.cli.room import check_room
from discreet.cli.setting_options import read_table
from discreet.cli.train_request import read_budget, read_ratings, read_reading, read_settings
from discreet.cli.train_summary import show, summarise
from discreet.cli.training_options import training_options
from discreet.engines.choice import fits_into_memory
from discreet.errors import CatalogueMissing, DiscreetError, SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.registry import find_method
from discreet.methods.tuning.tuning import enter_search, tune
from discreet.model.storage import check_target

__all__ = ["command"]


def _no_fixed_number(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value is not None:
        raise SettingsInvalid(
            f"there is no {param.opts[0]}: the best of a fixed number of trials is not private. The number is drawn at "
            "random; give its mean with --mean-trials"
        )


@click.command("tune")
@training_options
@click.option(
    "--space",
    required=True,
    metavar="FILE",
    help="TOML or JSON: for each setting to search a list of choices, or low, high and perhaps log, step and kind.",
)
@click.option(
    "--mean-trials",
    type=float,
    default=10.0,
    show_default=True,
    help="Trials on average. How many there are is drawn at random, and stays unknown.",
)
@click.option(
    "--at-least",
    type=click.FloatRange(0.0),
    default=0.0,
    metavar="SECONDS",
    help="Save and say nothing before so many seconds have passed, so that the time of the end tells nothing.",
)
@click.option("--trials", hidden=True, expose_value=False, is_eager=True, callback=_no_fixed_number)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    out: str,
    force: bool,
    as_json: bool,
    space: str,
    mean_trials: float,
    at_least: float,
    **options: Any,
) -> None:
    """Try settings of a private method on RATINGS, and save the best model that was found.

    Epsilon and delta cover the whole search: every model, every score, and the choice. Settings are drawn at
    random from the space; a tenth of everybody's ratings is held back to compare models by (Recall@20 of models that
    rank, root mean squared error of those that predict ratings). How many trials there were must stay secret, and how
    long the search took would tell: nothing that is printed or saved does. Let nobody watch it run who may not see the
    ratings; if others see when it ends, give --at-least a time that is hardly ever exceeded.

    \b
    Example:
      discreet tune ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --epsilon 5 --delta 1e-6 --space space.toml --out model/
    with space.toml:
      rank = {low = 1, high = 16, log = true}
      growth = {low = 1.0, high = 2.0}
      curvature = ["shared", "full"]
    """
    began = time.time()
    check_target(out, overwrite=force)
    method = find_method(options["method"])
    if not issubclass(method, PrivateMethod):
        raise SettingsInvalid(
            f"--method {method.method_name()} is not private: choosing its settings costs no budget, so train and "
            "evaluate it as often as you like"
        )
    settings = read_settings(ctx, options, method)
    budget = read_budget(options)
    if options["catalogue"] is None:
        raise CatalogueMissing(
            "tuning needs a public list of items: give it with --catalogue FILE. Items cannot be discovered here, as "
            "that takes part of delta in every trial"
        )
    searched = read_table(Path(space), "space of settings")
    reading = read_reading(options)
    check_room(out, reading["catalogue"], options)
    ledger = given_ledger(options)
    run = (
        None if ledger is None else ctx.with_resource(enter_search(ledger, method, budget, mean_trials, out))
    )
    if not fits_into_memory(options["source"]):
        click.echo(
            f"{options['source']} may take more than half of this machine's memory, and a search holds all ratings "
            "there. If it fails, search on a larger machine, or take the settings of a smaller data set.",
            err=True,
        )
    ratings = read_ratings(options, reading)
    with spinner("searching settings"), _no_sooner_than(began + at_least):
        tuned = tune(
            method,
            searched,
            ratings,
            budget,
            mean_trials=mean_trials,
            settings=settings,
            rng=options["seed"],
            ledger=run,
        )
    tuned.model_.save(out, overwrite=force)
    _date(Path(out), began)
    # No time and no memory, not even for the holder: either tells how many trials there were.
    result = summarise(tuned) | {
        "settings": tuned.settings_,
        "score": tuned.score_,
        "mean_trials": mean_trials,
    }
    result["holder"] = counts(ratings)
    if as_json:
        print_json(result)
    else:
        show("Tuned", result, tuned.model_, out)


@contextmanager
def _no_sooner_than(end: float) -> Iterator[None]:
    """Go on when that time has come, with the outcome or with a refusal."""
    try:
        yield
    except DiscreetError:
        _wait_until(end)
        raise
    _wait_until(end)


def _wait_until(end: float) -> None:
    time.sleep(max(0.0, end - time.time()))


def _date(folder: Path, began: float) -> None:
    """Let the files bear the time when the search began: that of its end, beside it, tells how long it took."""
    for path in (*folder.iterdir(), folder):
        os.utime(path, (began, began))
