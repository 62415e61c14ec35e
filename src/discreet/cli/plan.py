"""``discreet plan``: what quality to expect at which epsilon, before any budget is spent."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from discreet.catalogue import Goal
from discreet.cli.output import json_option, print_json, printer, progress_bar
from discreet.errors import SettingsInvalid
from discreet.model.directory import replace_file
from discreet.pictures import standalone
from discreet.planning import Outcome, Plan, chart, plan, recommendation, reservations

__all__ = ["command"]


@click.command("plan")
@click.option("--users", type=click.IntRange(100), required=True, help="How many people have rated.")
@click.option("--items", type=click.IntRange(10), required=True, help="Size of the catalogue.")
@click.option("--ratings-per-user", type=float, required=True, help="Ratings or clicks a person, on average.")
@click.option(
    "--goal",
    type=click.Choice(["rank", "rate"]),
    default="rank",
    show_default=True,
    help="To recommend (rank), or to predict ratings (rate).",
)
@click.option(
    "--rating-range",
    type=float,
    nargs=2,
    metavar="LOW HIGH",
    help="Lowest and highest rating.  [default: 1 5]",
)
@click.option("--clicks", is_flag=True, help="There are no ratings, only what people chose.")
@click.option(
    "--head-share",
    type=float,
    default=0.7,
    show_default=True,
    help="Share of all ratings that the most popular fifth of the items has; 0.2 if all are as popular.",
)
@click.option(
    "--spread",
    type=float,
    help="Standard deviation of the ratings, if it is known from elsewhere.  [default: 0.27 of the range]",
)
@click.option(
    "--epsilon",
    "epsilons",
    default="0.5,1,2,5,20",
    show_default=True,
    metavar="E[,E...]",
    help="Budgets to compare.",
)
@click.option("--delta", type=float, default=1e-6, show_default=True, help="Privacy parameter delta.")
@click.option("--quick", is_flag=True, help="Smaller made-up markets: some seconds, and less sharp.")
@click.option(
    "--picture", metavar="FILE.svg", type=click.Path(path_type=Path), help="Write the curve as an SVG."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the made-up markets.")
@json_option
def command(
    users: int,
    items: int,
    ratings_per_user: float,
    goal: Goal,
    rating_range: tuple[float, float] | None,
    clicks: bool,
    head_share: float,
    spread: float | None,
    epsilons: str,
    delta: float,
    quick: bool,
    picture: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Say what quality to expect at which epsilon, from a few numbers, before any budget is spent.

    No rating is read. Models are trained with and without privacy on made-up markets of these sizes, which takes about
    a minute (--quick: some seconds).

    \b
    Examples:
      discreet plan --users 6000 --items 1000 --ratings-per-user 40
      discreet plan --users 50000 --items 3000 --ratings-per-user 100 --goal rate --picture plan.svg
    """
    if clicks and rating_range is not None:
        raise SettingsInvalid(
            "--clicks says that there are no ratings, and --rating-range what they are; leave one out"
        )
    if picture is not None:
        _check_picture(picture)
    with progress_bar() as report:
        found = plan(
            users,
            items,
            ratings_per_user,
            goal=goal,
            rating_range=None if clicks else rating_range or (1.0, 5.0),
            head_share=head_share,
            spread=spread,
            epsilons=_epsilons(epsilons),
            delta=delta,
            quick=quick,
            rng=seed,
            progress=report,
        )
    if picture is not None:
        content = standalone(chart(found).svg()).encode()
        replace_file(picture.absolute(), lambda file: file.write(content), private=False)
    if as_json:
        words = {"recommendation": recommendation(found), "reservations": reservations(found)}
        print_json({**found.to_dict(), **words, "picture": None if picture is None else str(picture)})
    else:
        _show(found, picture)


def _check_picture(picture: Path) -> None:
    if picture.suffix.lower() != ".svg":
        raise SettingsInvalid(f"--picture writes SVG; give the file the extension .svg, not {picture.name!r}")
    if not picture.absolute().parent.is_dir():
        raise SettingsInvalid(f"there is no directory {picture.parent} to write {picture.name} to")


def _epsilons(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingsInvalid(f"--epsilon takes numbers such as 1 or 0.5,1,5, not {text!r}") from None


def _show(found: Plan, picture: Path | None) -> None:
    console, sizes = printer(), found.sizes
    better = "less" if sizes.goal == "rate" else "more"
    feedback = (
        "clicks" if sizes.rating_range is None else "ratings from {:g} to {:g}".format(*sizes.rating_range)
    )
    console.print(
        f"Made-up markets: {sizes.users:,} users, {sizes.items:,} items, {sizes.ratings_per_user:g} {feedback} a user, "
        f"a tenth held out; delta {found.delta:g}. {found.measure}, {better} is better."
    )
    table = Table()
    table.add_column("model")
    for name in ("mean", "range", "of the way"):
        table.add_column(name, justify="right")
    for one in found.baselines:
        table.add_row(one.name, *_numbers(one), "0 %" if one is found.baseline else "")
    for one in found.private:
        gain = found.gain(one)
        table.add_row(f"private, {one.name}", *_numbers(one), "" if gain is None else f"{100 * gain:.0f} %")
    table.add_row(found.not_private.name, *_numbers(found.not_private), "100 %" if found.worth else "")
    console.print(table)
    for line in (*recommendation(found), "", *reservations(found)):
        console.print(line, markup=False, highlight=False)
    if picture is not None:
        console.print(f"The curve is in {picture}", markup=False, highlight=False)


def _numbers(one: Outcome) -> tuple[str, str]:
    if one.mean is None:
        return "too few users", ""
    return f"{one.mean:.4f}", f"{min(one.known):.4f} to {max(one.known):.4f}"
