"""``discreet audit``: try to refute a method's promise."""

from __future__ import annotations

import click

from discreet import kernels
from discreet.audit.replay import replay
from discreet.audit.suite import DEVICES, PROTOTYPES, QUICK, RUNS, TESTS, Audit, audit
from discreet.cli.output import Output, print_json, printer, show_table, spinner
from discreet.cli.request import argument, option, takes
from discreet.cli.rows import Items, Rows
from discreet.cli.settings import Charged, Sets, read_settings, refuse_ledger
from discreet.data.ratings import FileReading, Ratings
from discreet.errors import BudgetInvalid, CatalogueMissing, RatingsInvalid, SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.registry import find_method
from discreet.privacy.budget import Budget

__all__ = ["command"]

REFUTED = 1
"""Exit code where the claim does not hold."""


class _Asked(Output, Charged, Sets, Items, Rows):
    method: str = argument("METHOD")
    epsilon: str = option("The claim: privacy parameter epsilon.")
    delta: str | None = option("The claim: privacy parameter delta; none for prototypes and devices.")
    tests: tuple[str, ...] = option(
        "What to try; repeatable.", ("replay", "game"), name="--test", type=click.Choice(TESTS)
    )
    quick: bool = option("2,000 runs in each world instead of 100,000.")
    runs: int | None = option("Runs of the game in each world.", ge=100)
    workers: int | None = option("Processes that play; the number of cores otherwise.", ge=1)
    ratings: str | None = option("Replay on your own ratings instead of synthetic ones.", metavar="FILE")
    user: str = option("With --ratings: column of user ids.", "", about="ratings")
    item: str = option("With --ratings: column of item ids.", "", about="ratings")
    rating_range: tuple[float, float] | None = option(
        "Lowest and highest possible rating.", metavar="LO HI", about="rating"
    )


@takes(_Asked, "audit")
def command(request: _Asked) -> None:
    """Try to refute that METHOD is (epsilon, delta)-private, and say how close it came.

    METHOD is a private method's name, prototypes or devices. "replay" writes a run down and repeats it with one user
    more or less: exact integers, compared with the bound that each release declares. "game" runs production code on a
    miniature instance again and again, with a canary and without, and bounds epsilon from below by how well an
    attacker who sees every release tells which. A lower bound above the claim ends with exit code 1.

    With --ratings, the replay is on your own file, and nothing is printed but whether it passed and the worst ratio
    over synthetic neighbours. It makes the releases of one training run: whoever publishes the ratio has spent the
    budget once, and --ledger enters it.

    \b
    Example:
      discreet audit budgeted --epsilon 1 --delta 1e-6 --quick
      discreet audit devices --epsilon 4
      discreet audit dpals --epsilon 4 --delta 1e-6 --ratings ratings.csv --user user --item item \\
          --rating stars --rating-range 1 5 --catalogue items.csv
    """
    ctx = click.get_current_context()
    if request.ratings is not None:
        passed = _own(ctx, request, request.ratings)
    else:
        if request.catalogue or request.rating or request.sets:
            raise SettingsInvalid(
                "--catalogue, --rating and --set are about --ratings FILE, which is missing"
            )
        refuse_ledger(ctx, "an audit on synthetic ratings")
        passed = _synthetic(request)
    if not passed:
        ctx.exit(REFUTED)


def _synthetic(request: _Asked) -> bool:
    runs = request.runs or (QUICK if request.quick else RUNS)
    workers = 1 if request.quick else request.workers or kernels.get_threads()
    epsilon, delta = _claim(request)
    with spinner("auditing"):
        found = audit(request.method, epsilon, delta, request.tests, runs, workers)
    if request.as_json:
        print_json(found.as_json())
    else:
        _show(found)
    return found.passed


def _own(ctx: click.Context, request: _Asked, source: str) -> bool:
    """Replay on a person's own file; little is said, and that little follows from synthetic users and releases."""
    name, method = request.method, find_method(request.method)
    if not issubclass(method, PrivateMethod):
        raise SettingsInvalid(f"{name} is not private, so there is no promise to audit")
    budget = Budget(*_claim(request))
    for key in ("user", "item"):
        if not getattr(request, key):
            raise SettingsInvalid(f"--{key} is missing: name the column of {key} ids in {source}")
    if (request.rating is None) != (request.rating_range is None):
        raise RatingsInvalid("give both --rating and --rating-range LO HI, or neither for clicks")
    if request.catalogue is None:
        raise CatalogueMissing("an audit needs a public list of items: give it with --catalogue FILE")
    asked, half = method(**read_settings(request.sets)), method.public_half
    ledger, run = request.given_ledger(), None
    if ledger is not None:  # what the releases cost is reserved before any rating is read
        price = asked.price(budget)
        run = ctx.with_resource(
            ledger.begin(budget, price, method=f"audit of {half.name}", adaptive=half.adaptive)
        )
    catalogue = request.read_catalogue(request.encoding)
    reading: FileReading = {**request.reading(), "rating_range": request.rating_range, "catalogue": catalogue}
    ratings = Ratings.from_file(source, **reading)
    with spinner("replaying neighbours"):
        found = replay(asked, ratings, budget, ledger=run)
    if request.as_json:
        print_json({"method": name, "passed": found.passed, "worst_ratio": round(found.worst, 4)})
    else:
        ratio = f"worst ratio over synthetic neighbours {found.worst:.4f} of the bound"
        printer().print(f"{name}: {'passed' if found.passed else 'FAILED'}; {ratio}")
    return found.passed


def _claim(request: _Asked) -> tuple[float, float]:
    if request.method in (DEVICES, PROTOTYPES):
        try:
            return float(request.epsilon), float(request.delta or "0")
        except ValueError:
            typed = f"{request.epsilon!r} and {request.delta or '0'!r}"
            raise BudgetInvalid(f"--epsilon and --delta must be numbers, not {typed}") from None
    if request.delta is None:
        raise BudgetInvalid("--delta is missing; give the claim as in --epsilon 1 --delta 1e-6")
    budget = Budget.parse(request.epsilon, request.delta)
    return budget.epsilon, budget.delta


def _show(found: Audit) -> None:
    rows = [
        (
            f"replay, {kind} ({replayed.neighbours} neighbours, {len(replayed.releases)} releases)",
            *(f"{replayed.worst:.6f} of the bound", "1", _word(replayed.passed)),
        )
        for kind, replayed in found.replays.items()
    ]
    for name, game in found.games.items():
        rows += [
            (
                f"{name}, by {way} ({game.runs:,} runs a world)",
                *(f"epsilon at least {bound:.4f}", f"{game.claimed:g}", _word(bound <= game.claimed)),
            )
            for way, bound in game.bounds.items()
        ]
    claim = f"epsilon {found.claimed:g}" + (f", delta {found.delta:g}" if found.delta else "")
    show_table(rows, ("test", "found", "allowed", ""), f"{found.method}: {claim}")
    if found.passed:
        printer().print("Nothing refutes the claim.")
    else:
        printer().print("THE CLAIM IS REFUTED: more was found than the promise allows.")


def _word(passed: bool) -> str:
    return "passed" if passed else "FAILED"
