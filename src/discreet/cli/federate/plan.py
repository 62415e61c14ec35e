"""``discreet federate plan``: is training together worth it, before anybody pays."""

from __future__ import annotations

import time
from typing import Any

import click
from rich.table import Table

from discreet.catalogue import Goal
from discreet.cli.output import json_option, print_json, printer, progress_bar
from discreet.errors import SettingsInvalid
from discreet.privacy.budget import Budget
from discreet.silos.plan import NEWCOMERS, Federation, Row, measure_of, plan

__all__ = ["plan_command"]


@click.command("plan")
@click.option(
    "--silos",
    "count",
    type=click.IntRange(2, 1000),
    help="How many silos of the same size.  [default: 5, or as many as --users names]",
)
@click.option(
    "--users", default="1000", show_default=True, metavar="N[,N...]", help="Users of a silo, or of each silo."
)
@click.option(
    "--items", type=click.IntRange(10), default=2_000, show_default=True, help="Size of the catalogue."
)
@click.option("--ratings-per-user", type=click.IntRange(2), default=30, show_default=True, help="On average.")
@click.option(
    "--goal",
    type=click.Choice(["rank", "rate"]),
    default="rank",
    show_default=True,
    help="To recommend (rank), or to predict ratings (rate).",
)
@click.option("--epsilon", default="1", show_default=True, help="Privacy parameter epsilon.")
@click.option("--delta", default="1e-6", show_default=True, help="Privacy parameter delta.")
@click.option(
    "--honest", type=click.IntRange(1), help="How many silos are honest at least; more than half if left out."
)
@click.option(
    "--draws",
    type=click.IntRange(1, 100),
    default=2,
    show_default=True,
    help="Private runs to average, each with fresh noise.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the made-up ratings.")
@json_option
def plan_command(
    count: int | None,
    users: str,
    items: int,
    ratings_per_user: int,
    goal: Goal,
    epsilon: str,
    delta: str,
    honest: int | None,
    draws: int,
    seed: int,
    as_json: bool,
) -> None:
    """Compare training alone and together, with and without privacy, on made-up ratings.

    No real rating is read and nothing is spent. A synthetic market of the given size is dealt out to silos; every way
    to train is judged by newcomers who are in no silo. Silos whose users differ from one another gain less from each
    other.

    \b
    Examples:
      discreet federate plan --silos 5 --users 1000
      discreet federate plan --users 8000,2000,500 --goal rate --epsilon 5
    """
    started = time.perf_counter()
    sizes = _sizes(users, count)
    federation = Federation(sizes, items, ratings_per_user, goal, honest)
    budget = Budget.parse(epsilon, delta)
    with progress_bar() as report:
        rows = plan(federation, budget, draws=draws, rng=seed, progress=report)
    seconds = time.perf_counter() - started
    if as_json:
        print_json(_as_dict(federation, budget, draws, rows, seconds))
    else:
        _show(federation, budget, draws, rows)


def _sizes(users: str, count: int | None) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in users.split(","))
    except ValueError:
        raise SettingsInvalid(
            f"--users takes whole numbers such as 1000 or 8000,2000,500, not {users!r}"
        ) from None
    if len(sizes) == 1:
        return sizes * (5 if count is None else count)
    if count not in (None, len(sizes)):
        raise SettingsInvalid(f"--users names {len(sizes)} silos and --silos {count}; leave --silos out")
    return sizes


def _as_dict(
    federation: Federation, budget: Budget, draws: int, rows: list[Row], seconds: float
) -> dict[str, Any]:
    measure = measure_of(federation.goal)
    return {
        "silos": len(federation.sizes),
        "sizes": list(federation.sizes),
        "items": federation.items,
        "ratings_per_user": federation.ratings_per_user,
        "goal": federation.goal,
        "measure": measure,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "honest": federation.agreed,
        "newcomers": NEWCOMERS,
        "draws": draws,
        "rows": [
            {
                "training": row.training,
                "private": row.private,
                "silos": row.silos,
                "users": row.users,
                "honest": row.honest,
                measure: row.score,
            }
            for row in rows
        ],
        "worth_joining": _gains(federation, rows),
        "seconds": round(seconds, 3),
    }


def _gains(federation: Federation, rows: list[Row]) -> list[dict[str, Any]]:
    """What each size of silo gains over its own model, in per cent of that; above 0 is better."""
    together = _score(rows, "together", private=True, users=sum(federation.sizes), honest=federation.agreed)
    gains = []
    for size in sorted(set(federation.sizes)):
        own = {
            "alone": _score(rows, "alone", private=False, users=size),
            "alone_private": _score(rows, "alone", private=True, users=size),
        }
        gains.append(
            {
                "users": size,
                **{f"gain_over_{key}": _gain(federation, value, together) for key, value in own.items()},
            }
        )
    return gains


def _score(
    rows: list[Row], training: str, *, private: bool, users: int, honest: int | None = None
) -> float | None:
    wanted = (training, private, users, honest)
    return next(row.score for row in rows if (row.training, row.private, row.users, row.honest) == wanted)


def _gain(federation: Federation, own: float | None, together: float | None) -> float | None:
    if own is None or together is None:
        return None
    better = own - together if federation.goal == "rate" else together - own
    return round(100.0 * better / own, 2)


def _show(federation: Federation, budget: Budget, draws: int, rows: list[Row]) -> None:
    console, measure = printer(), measure_of(federation.goal)
    about = "less is better" if federation.goal == "rate" else "more is better"
    console.print(
        f"Made-up ratings: {len(federation.sizes)} silos, {sum(federation.sizes):,} users, {federation.items:,} items, "
        f"{federation.ratings_per_user} ratings a user. Judged by {NEWCOMERS:,} newcomers; {measure}, {about}; mean of "
        f"{draws} draws of noise at {budget}."
    )
    table = Table()
    table.add_column("training")
    for name in ("users", "silos", "honest", measure):
        table.add_column(name, justify="right")
    for row in rows:
        score = "too few users" if row.score is None else f"{row.score:.4f}"
        table.add_row(_WORDS[row.training, row.private], *_numbers(row), score)
    console.print(table)
    for gain in _gains(federation, rows):
        console.print(_verdict(gain))
    console.print(
        "Nothing was read and nothing was spent. Other markets, and silos whose users differ, give other numbers."
    )


_WORDS = {
    ("free", True): "each user's own mean, free",
    ("popularity", False): "most popular items, not private",
    ("alone", False): "alone, not private",
    ("alone", True): "alone, private",
    ("together", True): "together, private",
}


def _numbers(row: Row) -> tuple[str, str, str]:
    return (
        f"{row.users:,}" if row.users else "",
        f"{row.silos}" if row.silos else "",
        "" if row.honest is None else f"{row.honest}",
    )


def _verdict(gain: dict[str, Any]) -> str:
    parts = []
    for key, words in (
        ("gain_over_alone", "alone without privacy"),
        ("gain_over_alone_private", "alone with privacy"),
    ):
        value = gain[key]
        if value is None:
            parts.append(f"cannot be compared with {words} (the budget is too small for so few users)")
        else:
            parts.append(f"{abs(value):.1f} % {'better' if value >= 0 else 'worse'} than {words}")
    return f"A silo of {gain['users']:,} users: together is {', and '.join(parts)}."
