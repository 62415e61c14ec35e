"""``discreet plan`` and ``budget``: what quality to expect at which epsilon, and how much noise that is."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from discreet.catalogue import Goal
from discreet.cli.output import Answer, Output, check_file, printer, progress_bar, show_table
from discreet.cli.request import option, takes
from discreet.errors import SettingsInvalid
from discreet.model.directory import replace_file
from discreet.pictures import standalone
from discreet.planning import Outcome, Plan, chart, recommendation, reservations
from discreet.planning import plan as plan_quality
from discreet.privacy.accounting import epsilon_renyi, mu_renyi
from discreet.privacy.budget import Budget

__all__ = ["budget", "plan"]


class _Plan(Output):
    users: int = option("How many people have rated.", ge=100)
    items: int = option("Size of the catalogue.", ge=10)
    ratings_per_user: float = option("Ratings or clicks a person, on average.")
    goal: Goal = option("To recommend (rank), or to predict ratings (rate).", "rank")
    rating_range: tuple[float, float] | None = option(
        "Lowest and highest rating.  [default: 1 5]", metavar="LO HI"
    )
    clicks: bool = option("There are no ratings, only what people chose.")
    head_share: float = option(
        "Share of all ratings that the most popular fifth of the items has; 0.2 if all are as popular.", 0.7
    )
    spread: float | None = option(
        "Standard deviation of the ratings, if it is known from elsewhere.  [default: 0.27 of the range]"
    )
    epsilon: str = option("Budgets to compare.", "0.5,1,2,5,20", metavar="E[,E...]")
    delta: float = option("Privacy parameter delta.", 1e-06)
    quick: bool = option("Smaller made-up markets: some seconds, and less sharp.")
    picture: Path | None = option("Write the curve as an SVG.", metavar="FILE.svg")
    seed: int = option("Of the made-up markets.", 0, ge=0)

    def epsilons(self) -> list[float]:
        """The budgets to compare."""
        try:
            return [float(part) for part in self.epsilon.split(",")]
        except ValueError:
            raise SettingsInvalid(
                f"--epsilon takes numbers such as 1 or 0.5,1,5, not {self.epsilon!r}"
            ) from None


@takes(_Plan, "plan")
def plan(request: _Plan) -> Answer:
    """No rating is read. Models are trained with and without privacy on made-up markets of these sizes, which takes
    about a minute (--quick: some seconds).

    \b
    Example:
      discreet plan --users 50000 --items 3000 --ratings-per-user 100 --goal rate --picture plan.svg
    """
    picture = request.picture
    if request.clicks and request.rating_range is not None:
        raise SettingsInvalid(
            "--clicks says that there are no ratings, and --rating-range what they are; leave one out"
        )
    if picture is not None:
        check_file(picture, ".svg", name="--picture")
    with progress_bar() as report:
        found = plan_quality(
            request.users,
            request.items,
            request.ratings_per_user,
            goal=request.goal,
            rating_range=None if request.clicks else request.rating_range or (1.0, 5.0),
            head_share=request.head_share,
            spread=request.spread,
            epsilons=request.epsilons(),
            delta=request.delta,
            quick=request.quick,
            rng=request.seed,
            progress=report,
        )
    if picture is not None:
        drawn = standalone(chart(found).svg()).encode()
        replace_file(picture.absolute(), lambda file: file.write(drawn), private=False)
    words = {"recommendation": recommendation(found), "reservations": reservations(found)}
    content = {**found.to_dict(), **words, "picture": None if picture is None else str(picture)}
    return Answer(content, partial(_show, found, picture))


def _show(found: Plan, picture: Path | None) -> None:
    sizes = found.sizes
    better = "less" if sizes.goal == "rate" else "more"
    feedback = (
        "clicks" if sizes.rating_range is None else "ratings from {:g} to {:g}".format(*sizes.rating_range)
    )
    printer().print(
        f"Made-up markets: {sizes.users:,} users, {sizes.items:,} items, {sizes.ratings_per_user:g} {feedback} a user, "
        f"a tenth held out; delta {found.delta:g}. {found.measure}, {better} is better."
    )
    rows: list[tuple[str, ...]] = [
        _row(one.name, one, "0 %" if one is found.baseline else "") for one in found.baselines
    ]
    for one in found.private:
        gain = found.gain(one)
        rows.append(
            _row(f"private, {one.name}", one, "" if gain is None else f"{100 * gain:.0f} %")
            + _cost(found, one)
        )
    rows.append(_row(found.not_private.name, found.not_private, "100 %" if found.worth else ""))
    numbers = ("mean", "range", "of the way", *(("head", "MB", "seconds") if sizes.goal == "rank" else ()))
    width = len(numbers) + 1
    show_table((row + ("",) * (width - len(row)) for row in rows), ("model", *numbers), right=numbers)
    drawn = () if picture is None else (f"The curve is in {picture}",)
    for line in (*recommendation(found), "", *reservations(found), *drawn):
        printer().print(line)


def _cost(found: Plan, one: Outcome) -> tuple[str, ...]:
    """Head, memory and seconds of training for lists."""
    memory, seconds = found.memory_mb(one), found.seconds_of(one)
    if one.head is None or memory is None or seconds is None:
        return ()
    return f"{one.head:,}", f"{memory:,.0f}", f"{seconds:.2g}" if seconds < 10.0 else f"{seconds:,.0f}"


def _row(name: str, one: Outcome, share: str) -> tuple[str, str, str, str]:
    if one.mean is None:
        return name, "too few users", "", share
    return name, f"{one.mean:.4f}", f"{min(one.known):.4f} to {max(one.known):.4f}", share


class _Budget(Output):
    epsilon: str = option("Privacy parameter epsilon, above 0.")
    delta: str = option("Privacy parameter delta, between 0 and 1; well below 1 / users.")
    releases: int = option("Releases to plan for.", 1, ge=1)


@takes(_Budget, "budget")
def budget(request: _Budget) -> Answer:
    """mu is the one number that adds up (its squares do) over Gaussian releases. The conversion is exact; the
    Rényi conversion that papers use is shown beside it, with the extra noise it would have asked for.

    \b
    Example:
      discreet budget --epsilon 1 --delta 1e-6 --releases 6
    """
    given, releases = Budget.parse(request.epsilon, request.delta), request.releases
    mu, renyi = given.mu, mu_renyi(given.epsilon, given.delta)
    content = {
        "epsilon": given.epsilon,
        "delta": given.delta,
        "mu": mu,
        "renyi": {"mu": renyi, "epsilon_of_mu": epsilon_renyi(mu, given.delta), "noise_ratio": mu / renyi},
        "releases": releases,
        "mu_per_release": mu / math.sqrt(releases),
        "noise_multiplier": math.sqrt(releases) / mu,
    }
    facts = (
        ("mu (exact)", f"{mu:.6g}"),
        ("mu by the Rényi conversion", f"{renyi:.6g}  ({mu / renyi:.3f} times the noise)"),
        ("epsilon the Rényi conversion states for the exact mu", f"{epsilon_renyi(mu, given.delta):.6g}"),
        (f"mu for each of {releases} equal releases", f"{content['mu_per_release']:.6g}"),
        ("noise of each, in units of one user's largest change", f"{content['noise_multiplier']:.6g}"),
    )
    title = f"epsilon {given.epsilon:g}, delta {given.delta:g}"
    return Answer(content, partial(show_table, facts, title=title))
