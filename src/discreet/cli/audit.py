"""``discreet audit``: try to refute a method's promise."""

from __future__ import annotations

from functools import partial

import click

from discreet import kernels
from discreet.audit.suite import DEVICES, PROTOTYPES, QUICK, RUNS, TESTS, Audit
from discreet.audit.suite import audit as try_to_refute
from discreet.cli.output import Answer, Output, printer, show_table, spinner
from discreet.cli.request import argument, option, takes
from discreet.errors import BudgetInvalid
from discreet.privacy.budget import Budget

__all__ = ["command"]

REFUTED = 1
"""Exit code where the claim does not hold."""


class _Asked(Output):
    method: str = argument("METHOD")
    epsilon: str = option("The claim: privacy parameter epsilon.")
    delta: str | None = option("The claim: privacy parameter delta; none for prototypes and devices.")
    tests: tuple[str, ...] = option(
        "What to try; repeatable.", ("replay", "game"), name="--test", type=click.Choice(TESTS)
    )
    quick: bool = option("2,000 runs in each world instead of 100,000.")
    runs: int | None = option("Runs of the game in each world.", ge=100)
    workers: int | None = option("Processes that play; the number of cores otherwise.", ge=1)


@takes(_Asked, "audit")
def command(request: _Asked) -> Answer:
    """METHOD is a private method's name, prototypes or devices. "replay" writes a run down and repeats it with one user
    more or less: exact integers, compared with the bound that each release declares. "game" runs production code on a
    miniature instance again and again, with a canary and without, and bounds epsilon from below by how well an
    attacker who sees every release tells which. A lower bound above the claim ends with exit code 1. Ratings are
    synthetic: it costs nobody anything.

    \b
    Example:
      discreet audit budgeted --epsilon 1 --delta 1e-6 --quick
      discreet audit devices --epsilon 4
    """
    runs = request.runs or (QUICK if request.quick else RUNS)
    workers = 1 if request.quick else request.workers or kernels.get_threads()
    epsilon, delta = _claim(request)
    with spinner("auditing"):
        found = try_to_refute(request.method, epsilon, delta, request.tests, runs, workers)
    return Answer(found.as_json(), partial(_show, found), exit_code=0 if found.passed else REFUTED)


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
