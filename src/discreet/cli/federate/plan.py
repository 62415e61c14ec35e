"""``discreet federate plan``: is training together worth it, before anybody pays."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from discreet.catalogue import Goal
from discreet.cli.federate import command
from discreet.cli.output import Answer, Output, printer, progress_bar, show_table
from discreet.cli.request import option, takes
from discreet.errors import SettingsInvalid
from discreet.privacy.budget import Budget
from discreet.silos.plan import NEWCOMERS, Federation, Row, gains, measure_of, plan

_WORDS = {
    ("free", True): "each user's own mean, free",
    ("popularity", False): "most popular items, not private",
    ("alone", False): "alone, not private",
    ("alone", True): "alone, private",
    ("together", True): "together, private",
}


class _Plan(Output):
    silos: int | None = option(
        "How many silos of the same size.  [default: 5, or as many as --users names]", ge=2, le=1000
    )
    users: str = option("Users of a silo, or of each silo.", "1000", metavar="N[,N...]")
    items: int = option("Size of the catalogue.", 2000, ge=10)
    ratings_per_user: int = option("On average.", 30, ge=2)
    goal: Goal = option("To recommend (rank), or to predict ratings (rate).", "rank")
    epsilon: str = option("Privacy parameter epsilon.", "1")
    delta: str = option("Privacy parameter delta.", "1e-6")
    honest: int | None = option("How many silos are honest at least; more than half if left out.", ge=1)
    draws: int = option("Private runs to average, each with fresh noise.", 2, ge=1, le=100)
    seed: int = option("Of the made-up ratings.", 0, ge=0)

    def sizes(self) -> tuple[int, ...]:
        """Users of each silo."""
        try:
            sizes = tuple(int(part) for part in self.users.split(","))
        except ValueError:
            raise SettingsInvalid(
                f"--users takes whole numbers such as 1000 or 8000,2000,500, not {self.users!r}"
            ) from None
        if len(sizes) == 1:
            return sizes * (5 if self.silos is None else self.silos)
        if self.silos not in (None, len(sizes)):
            raise SettingsInvalid(
                f"--users names {len(sizes)} silos and --silos {self.silos}; leave --silos out"
            )
        return sizes


@takes(_Plan, "plan", inside=command)
def _plan(request: _Plan) -> Answer:
    """Compare training alone and together, with and without privacy, on made-up ratings.

    No real rating is read and nothing is spent. A synthetic market of the given size is dealt out to silos; every way
    to train is judged by newcomers who are in no silo. Silos whose users differ from one another gain less from each
    other.

    \b
    Example:
      discreet federate plan --users 8000,2000,500 --goal rate --epsilon 5
    """
    started = time.perf_counter()
    federation = Federation(
        request.sizes(), request.items, request.ratings_per_user, request.goal, request.honest
    )
    budget = Budget.parse(request.epsilon, request.delta)
    with progress_bar() as report:
        rows = plan(federation, budget, draws=request.draws, rng=request.seed, progress=report)
    measure = measure_of(federation.goal)
    content = {
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
        "draws": request.draws,
        "rows": [{**dict(zip(Row._fields[:-1], row, strict=False)), measure: row.score} for row in rows],
        "worth_joining": gains(federation, rows),
        "seconds": round(time.perf_counter() - started, 3),
    }
    return Answer(content, partial(_show, federation, budget, request.draws, rows))


def _show(federation: Federation, budget: Budget, draws: int, rows: list[Row]) -> None:
    console, measure = printer(), measure_of(federation.goal)
    about = "less is better" if federation.goal == "rate" else "more is better"
    console.print(
        f"Made-up ratings: {len(federation.sizes)} silos, {sum(federation.sizes):,} users, {federation.items:,} items, "
        f"{federation.ratings_per_user} ratings a user. Judged by {NEWCOMERS:,} newcomers; {measure}, {about}; mean of "
        f"{draws} draws of noise at {budget}."
    )
    numbers = ("users", "silos", "honest", measure)
    shown = [
        (
            _WORDS[row.training, row.private],
            *(f"{number:,}" if number else "" for number in (row.users, row.silos, row.honest)),
            "too few users" if row.score is None else f"{row.score:.4f}",
        )
        for row in rows
    ]
    show_table(shown, ("training", *numbers), right=numbers)
    for gain in gains(federation, rows):
        console.print(_verdict(gain))
    console.print(
        "Nothing was read and nothing was spent. Other markets, and silos whose users differ, give other numbers."
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
