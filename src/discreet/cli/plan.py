"""``discreet plan``: what quality to expect at which epsilon, before any budget is spent."""

from __future__ import annotations

from pathlib import Path

from discreet.catalogue import Goal
from discreet.cli.output import Output, check_file, print_json, printer, progress_bar, show_table
from discreet.cli.request import option, takes
from discreet.errors import SettingsInvalid
from discreet.model.directory import replace_file
from discreet.pictures import standalone
from discreet.planning import Outcome, Plan, chart, plan, recommendation, reservations

__all__ = ["command"]


class _Asked(Output):
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


@takes(_Asked, "plan")
def command(request: _Asked) -> None:
    """Say what quality to expect at which epsilon, from a few numbers, before any budget is spent.

    No rating is read. Models are trained with and without privacy on made-up markets of these sizes, which takes about
    a minute (--quick: some seconds).

    \b
    Examples:
      discreet plan --users 6000 --items 1000 --ratings-per-user 40
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
        found = plan(
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
        content = standalone(chart(found).svg()).encode()
        replace_file(picture.absolute(), lambda file: file.write(content), private=False)
    if request.as_json:
        words = {"recommendation": recommendation(found), "reservations": reservations(found)}
        print_json({**found.to_dict(), **words, "picture": None if picture is None else str(picture)})
        return
    _show(found)
    if picture is not None:
        printer().print(f"The curve is in {picture}")


def _show(found: Plan) -> None:
    sizes = found.sizes
    better = "less" if sizes.goal == "rate" else "more"
    feedback = (
        "clicks" if sizes.rating_range is None else "ratings from {:g} to {:g}".format(*sizes.rating_range)
    )
    printer().print(
        f"Made-up markets: {sizes.users:,} users, {sizes.items:,} items, {sizes.ratings_per_user:g} {feedback} a user, "
        f"a tenth held out; delta {found.delta:g}. {found.measure}, {better} is better."
    )
    rows = [_row(one.name, one, "0 %" if one is found.baseline else "") for one in found.baselines]
    for one in found.private:
        gain = found.gain(one)
        rows.append(_row(f"private, {one.name}", one, "" if gain is None else f"{100 * gain:.0f} %"))
    rows.append(_row(found.not_private.name, found.not_private, "100 %" if found.worth else ""))
    numbers = ("mean", "range", "of the way")
    show_table(rows, ("model", *numbers), right=numbers)
    for line in (*recommendation(found), "", *reservations(found)):
        printer().print(line)


def _row(name: str, one: Outcome, share: str) -> tuple[str, str, str, str]:
    if one.mean is None:
        return name, "too few users", "", share
    return name, f"{one.mean:.4f}", f"{min(one.known):.4f} to {max(one.known):.4f}", share
