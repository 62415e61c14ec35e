"""``discreet audit``: try to refute a method's promise."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table

from discreet import kernels
from discreet.audit.replay import replay
from discreet.audit.suite import DEVICES, PROTOTYPES, TESTS, Audit, Size, audit
from discreet.catalogue import Catalogue
from discreet.cli.columns import features_option, read_features
from discreet.cli.ledger_option import given_ledger, ledger_options, refuse_ledger
from discreet.cli.output import json_option, print_json, printer, spinner
from discreet.cli.row_options import ROW_OPTIONS, row_options
from discreet.cli.setting_options import merge_settings, rating_range_option, set_option
from discreet.data.ratings import Ratings
from discreet.errors import BudgetInvalid, CatalogueMissing, RatingsInvalid, SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.registry import find_method
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.privacy.budget import Budget

__all__ = ["command"]

REFUTED = 1
"""Exit code where the claim does not hold."""


@click.command("audit")
@click.argument("method", metavar="METHOD")
@click.option("--epsilon", required=True, help="The claim: privacy parameter epsilon.")
@click.option("--delta", help="The claim: privacy parameter delta; none for prototypes and devices.")
@click.option(
    "--test",
    "tests",
    multiple=True,
    type=click.Choice(TESTS),
    default=("replay", "game"),
    show_default=True,
    help="What to try; repeatable.",
)
@click.option("--quick", is_flag=True, help="2,000 runs in each world instead of 100,000, and small models.")
@click.option("--runs", type=click.IntRange(min=100), help="Runs of the game in each world.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="Processes that play; the number of cores otherwise."
)
@click.option(
    "--ratings", "source", metavar="FILE", help="Replay on your own ratings instead of synthetic ones."
)
@click.option("--user", help="With --ratings: column of user ids.")
@click.option("--item", help="With --ratings: column of item ids.")
@click.option("--rating", help="With --ratings: column of ratings.")
@rating_range_option
@click.option("--catalogue", metavar="FILE", help="With --ratings: public list of items.")
@features_option
@row_options("drop")
@set_option("With --ratings: a setting of the method; repeatable.")
@ledger_options
@json_option
@click.pass_context
def command(ctx: click.Context, /, method: str, as_json: bool, **options: Any) -> None:
    """Try to refute that METHOD is (epsilon, delta)-private, and say how close it came.

    METHOD is a private method's name, prototypes or devices. "replay" writes a run down and repeats it with one user
    more or less: exact integers, compared with the bound that each release declares. "game" runs production code on a
    miniature instance again and again, with a canary and without, and bounds epsilon from below by how well an
    attacker who sees every release tells which. "membership" asks of released models who was in the data. A lower bound
    above the claim ends with exit code 1.

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
    if options["source"] is not None:
        passed = _own(ctx, method, options, as_json)
    else:
        _refuse_columns(options)
        refuse_ledger(ctx, "an audit on synthetic ratings")
        passed = _synthetic(method, options, as_json)
    if not passed:
        ctx.exit(REFUTED)


def _synthetic(method: str, options: dict[str, Any], as_json: bool) -> bool:
    workers = options["workers"] or kernels.get_threads()
    size = Size.quick() if options["quick"] else Size(workers=workers)
    if options["runs"] is not None:
        size = Size(options["runs"], size.users, size.models, size.workers)
    epsilon, delta = _claim(method, options)
    with spinner("auditing"):
        found = audit(method, epsilon, delta, options["tests"], size)
    if as_json:
        print_json(found.as_json())
    else:
        _show(found)
    return found.passed


def _own(ctx: click.Context, name: str, options: dict[str, Any], as_json: bool) -> bool:
    """Replay on a person's own file; little is said, and that little follows from synthetic users and releases."""
    method = find_method(name)
    if not issubclass(method, PrivateMethod):
        raise SettingsInvalid(f"{name} is not private, so there is no promise to audit")
    budget = Budget(*_claim(name, options))
    for key in ("user", "item"):
        if options[key] is None:
            raise SettingsInvalid(f"--{key} is missing: name the column of {key} ids in {options['source']}")
    if options["catalogue"] is None:
        raise CatalogueMissing("an audit needs a public list of items: give it with --catalogue FILE")
    asked = method(**merge_settings(ctx, options["sets"]))
    run = _enter(ctx, asked, budget, options)
    ratings = _read(options)
    with spinner("replaying neighbours"):
        found = replay(asked, ratings, budget, ledger=run)
    if as_json:
        print_json({"method": name, "passed": found.passed, "worst_ratio": round(found.worst, 4)})
    else:
        said = "passed" if found.passed else "FAILED"
        printer().print(
            f"{name}: {said}; worst ratio over synthetic neighbours {found.worst:.4f} of the bound"
        )
    return found.passed


def _read(options: dict[str, Any]) -> Ratings:
    if (options["rating"] is None) != (options["rating_range"] is None):
        raise RatingsInvalid("give both --rating and --rating-range LO HI, or neither for clicks")
    catalogue, columns = options["catalogue"], ("user", "item", "rating", "rating_range", *ROW_OPTIONS)
    return Ratings.from_file(
        options["source"],
        **{name: options[name] for name in columns},
        catalogue=Catalogue.from_file(catalogue, features=read_features(options["features"], catalogue)),
    )


def _enter(
    ctx: click.Context, method: PrivateMethod, budget: Budget, options: dict[str, Any]
) -> LedgerRun | None:
    """Reserve what the replay's releases cost, where there is a ledger: before any rating is read."""
    ledger, half = given_ledger(options), method.public_half
    if ledger is None:
        return None
    name, price = f"audit of {half.name}", method.price(budget)
    return ctx.with_resource(ledger.begin(budget, price, method=name, adaptive=half.adaptive))


def _claim(method: str, options: dict[str, Any]) -> tuple[float, float]:
    if method in (DEVICES, PROTOTYPES):
        return _number(options["epsilon"], "epsilon"), _number(options["delta"] or "0", "delta")
    if options["delta"] is None:
        raise BudgetInvalid("--delta is missing; give the claim as in --epsilon 1 --delta 1e-6")
    budget = Budget.parse(options["epsilon"], options["delta"])
    return budget.epsilon, budget.delta


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BudgetInvalid(f"--{name} must be a number, not {text!r}") from None


def _refuse_columns(options: dict[str, Any]) -> None:
    for key in ("user", "item", "rating", "rating_range", "catalogue", "features", "sets"):
        if options[key]:
            name = "set" if key == "sets" else key.replace("_", "-")
            raise SettingsInvalid(f"--{name} says how to read --ratings FILE, which is missing")


def _show(found: Audit) -> None:
    claim = f"epsilon {found.claimed:g}" + (f", delta {found.delta:g}" if found.delta else "")
    table = Table(title=f"{found.method}: {claim}", title_justify="left")
    for heading in ("test", "found", "allowed", ""):
        table.add_column(heading)
    for kind, replayed in found.replays.items():
        table.add_row(
            f"replay, {kind} ({replayed.neighbours} neighbours, {len(replayed.releases)} releases)",
            f"{replayed.worst:.6f} of the bound",
            "1",
            _word(replayed.passed),
        )
    for name, game in found.games.items():
        for way, bound in game.bounds.items():
            row = f"{name}, by {way} ({game.runs:,} runs a world)"
            table.add_row(
                row, f"epsilon at least {bound:.4f}", f"{game.claimed:g}", _word(bound <= game.claimed)
            )
    for name, curve in found.curves.items():
        said = f"{curve.at(0.01):.1%} at 1 %, {curve.at(0.05):.1%} at 5 % false alarms"
        table.add_row(f"membership, {name}", said, "", "")
    printer().print(table)
    if found.passed:
        printer().print("Nothing refutes the claim.")
    else:
        printer().print("THE CLAIM IS REFUTED: more was found than the promise allows.")


def _word(passed: bool) -> str:
    return "passed" if passed else "FAILED"
