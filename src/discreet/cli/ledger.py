"""``discreet ledger``: what all runs on the same data have cost, and what is left."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

from discreet.cli.options import LEDGER_VARIABLE
from discreet.cli.output import Answer, Output, printer, show_table
from discreet.cli.request import argument, group, option, takes
from discreet.errors import BudgetInvalid, LedgerInvalid
from discreet.model import Model
from discreet.privacy.account.account import Account, Plan, Run
from discreet.privacy.account.ledger_file import LedgerFile
from discreet.privacy.accounting import round_up
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Cost

__all__ = ["command", "shown"]

_HASH = re.compile(r"[0-9a-f]{64}")


@group("ledger")
def command() -> None:
    """A ledger is one file for one data set. Runs enter themselves with --ledger FILE (train, federate silo): the
    cap is asked before ratings are read, and every charge is on the disk before its noise is drawn. With
    DISCREET_LEDGER=FILE in the environment the file need not be named again.

    \b
    Example:
      discreet ledger cap shop.ledger --epsilon 4 --delta 1e-6
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --epsilon 1 --delta 1e-6 --ledger shop.ledger --out model/
      discreet ledger show shop.ledger
    """


class _Ledger(Output):
    file: str = argument("FILE", envvar=LEDGER_VARIABLE)


class _Show(_Ledger):
    delta: float | None = option("State epsilon at this delta; the cap's or the runs' own if left out.")


@takes(_Show, "show", inside=command)
def _show(request: _Show) -> Answer:
    """Show all runs in FILE and what they cost together.

    \b
    Example:
      discreet ledger show shop.ledger
    """
    account, delta = LedgerFile(request.file).account(), request.delta
    if delta is not None and not 0.0 <= delta < 1.0:
        raise BudgetInvalid(f"--delta must lie between 0 and 1, not {delta:g}")
    content = shown(account, account.delta if delta is None else delta)
    return Answer(content, partial(_print, content))


def _print(content: dict[str, Any]) -> None:
    """Runs, what they cost together, and the head."""
    names = ("when", "model", "method", "group", "state")
    show_table(
        [
            (*(run[name] or "" for name in names), round_up(run["epsilon"]), f"{run['delta']:g}")
            for run in content["runs"]
        ],
        (*names, "epsilon", "at delta"),
        f"Ledger of {content['ledger']}",
        right=("epsilon", "at delta"),
    )
    spent, groups, cap = content["spent"], content["groups"], content["cap"]
    mu = "" if spent["mu"] is None else f" (mu {round_up(spent['mu'])})"
    worst = ", of the group that pays most" if groups else ""
    console = printer()
    console.print(f"All together: epsilon {_up(spent['epsilon'])} at delta {spent['delta']:g}{mu}{worst}")
    for one in groups:
        console.print(f"  group {one['group']}: epsilon {_up(one['epsilon'])}")
    if groups:
        console.print(f"  who is in all groups: epsilon {_up(content['undivided']['epsilon'])}")
    console.print("No cap" if cap is None else f"Cap: epsilon {cap['epsilon']:g} at delta {cap['delta']:g}")
    console.print(f"Relation: {content['relation']}")
    if content["head"] is not None:
        console.print(f"Head: {content['head']} (keep it elsewhere; 'verify --head' finds a ledger set back)")


def shown(account: Account, delta: float) -> dict[str, Any]:
    """What `show` says of an account, at this delta."""
    groups = [{"group": group, **_cost(account.cost(group), delta)} for group in account.groups]
    return {
        "ledger": account.name,
        "relation": account.relation,
        "spent": {"epsilon": account.epsilon(delta), "delta": delta, "mu": account.mu},
        "cap": _cap(account.cap),
        "groups": groups,
        "undivided": _cost(account.undivided, delta) if groups else None,
        "runs": [_run(run) for run in account.runs.values()],
        "head": account.head or None,
    }


def _run(run: Run) -> dict[str, Any]:
    asked = run.asked
    return {
        **asked.model_dump(include={"when", "method", "trust", "group", "delta"}),
        "model": asked.model or asked.method,
        "epsilon": run.epsilon,
        "state": run.state,
        "charges": len(run.charges),
        "budget": {"epsilon": asked.epsilon, "delta": asked.delta},
    }


def _cost(cost: Cost, delta: float) -> dict[str, float | None]:
    return {"epsilon": cost.epsilon(delta), "delta": delta, "mu": cost.gaussian_mu}


def _cap(cap: Budget | None) -> dict[str, Any] | None:
    return None if cap is None else {"epsilon": cap.epsilon, "delta": cap.delta}


def _up(epsilon: float) -> str:
    return "infinite" if epsilon == float("inf") else round_up(epsilon)


class _Plan(Output):
    file: str | None = argument("[FILE]", envvar=LEDGER_VARIABLE)
    runs: int = option("Further runs.", 12, ge=1, le=1000000)
    epsilon: str = option("Of each run.", "1")
    delta: str = option("Of each run.", "1e-6")
    group: str | None = option("Plan for this group of the ledger.")


@takes(_Plan, "plan", inside=command)
def _plan(request: _Plan) -> Answer:
    """Say what further runs on the same ratings come to, what is left, and at which epsilon they would fit.

    Without FILE the plan begins with nothing spent, and has no cap.

    \b
    Example, twelve monthly runs at epsilon 1:
      discreet ledger plan shop.ledger --runs 12 --epsilon 1 --delta 1e-6
    """
    account = Account("", "") if request.file is None else LedgerFile(request.file).account()
    cap = account.cap
    budget = Budget.parse(request.epsilon, request.delta)
    plan = Plan(account.cost(request.group), budget, request.runs)
    delta = cap.delta if cap is not None else max(budget.delta, account.delta)
    costs = {"together": plan.together, "spent": plan.spent, "after": plan.after}
    left = (
        None
        if cap is None
        else {
            "runs": plan.runs_that_fit(cap),
            "epsilon_of_one_run": plan.epsilon_each(cap, 1),
            "epsilon_of_each": plan.epsilon_each(cap, plan.runs),
        }
    )
    content = {
        "runs": plan.runs,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        **{name: _cost(cost, delta) for name, cost in costs.items()},
        "cap": _cap(cap),
        "fits": None if cap is None else plan.after.within(cap),
        "left": left,
    }
    facts = [
        (f"spent so far, epsilon at delta {delta:g}", _up(plan.spent.epsilon(delta))),
        (f"the {plan.runs} runs together", _up(plan.together.epsilon(delta))),
        ("all of it", _up(plan.after.epsilon(delta))),
    ]
    if cap is not None and left is not None:
        facts += [
            ("cap", f"{cap.epsilon:g}"),
            ("fits under the cap", "yes" if content["fits"] else "no"),
            ("left: runs of this budget", f"{left['runs']:,}"),
            ("left: epsilon of one run", _down(left["epsilon_of_one_run"])),
            (f"left: epsilon of each of {plan.runs} runs", _down(left["epsilon_of_each"])),
        ]
    title = f"{plan.runs} runs at epsilon {budget.epsilon:g}, delta {budget.delta:g}"
    return Answer(content, partial(show_table, facts, title=title))


def _down(epsilon: float) -> str:
    """Four digits, cut off: what is typed from here must fit."""
    text = f"{epsilon:.4g}"
    return text if float(text) <= epsilon else f"{epsilon - 10.0 ** (len(str(int(epsilon))) - 4):.4g}"


class _Capped(_Ledger):
    epsilon: str | None = option("What all runs together may cost at most, at --delta.")
    delta: str | None = option("Privacy parameter delta of the whole; well below 1 / users.")
    lift: bool = option("Have no cap any more. That is written down, like every cap.")


@takes(_Capped, "cap", inside=command)
def _set_cap(request: _Capped) -> Answer:
    """Set the cap of FILE, or show it if nothing else is given. Begins the ledger if there is none.

    A run that does not fit under the cap beside all others, with those that go on counted whole, is refused before it
    reads ratings.

    \b
    Example:
      discreet ledger cap shop.ledger --epsilon 4 --delta 1e-6
    """
    ledger, epsilon, delta = LedgerFile(request.file), request.epsilon, request.delta
    if (epsilon is None) != (delta is None) or (request.lift and epsilon is not None):
        raise BudgetInvalid("a cap has --epsilon and --delta; --lift stands alone")
    if request.lift and not Path(request.file).exists():
        raise BudgetInvalid(f"there is no ledger {request.file}, and so no cap to lift")
    if epsilon is not None and delta is not None:
        ledger.set_cap(Budget.parse(epsilon, delta))
    elif request.lift:
        ledger.set_cap(None)
    account = ledger.account()
    words = f"{account.name}: no cap" if account.cap is None else f"{account.name}: cap {account.cap}"
    return Answer({"ledger": account.name, "cap": _cap(account.cap), "head": account.head}, words)


class _Verify(_Ledger):
    heads: tuple[str, ...] = option(
        "A head kept elsewhere: typed, in a file, or in a model that was trained under the ledger; repeatable.",
        name="--head",
        metavar="HASH|FILE|MODEL",
    )


@takes(_Verify, "verify", inside=command)
def _verify(request: _Verify) -> Answer:
    """Check every line of FILE against the one before it; exit code 2 if anything was damaged, edited or set back.

    From the file alone nobody can see that its end was cut off. Give a head that was kept elsewhere (shown here and by
    'ledger show'), or any model trained under it: its statement has one.

    \b
    Example:
      discreet ledger verify shop.ledger --head model/
    """
    ledger, heads = LedgerFile(request.file), len(request.heads)
    chain = ledger.verify()
    for head in request.heads:
        ledger.verify(_read_head(head))
    # A crash leaves no torn record any more; who reads the field is told so.
    content = {"whole": True, "records": len(chain.records), "torn_bytes": 0, "head": chain.head}
    found = f"\n{heads} of {heads} heads found: nothing since them was set back" if heads else ""
    words = f"{request.file}: {len(chain.records)} records, none damaged or edited{found}\nHead: {chain.head}"
    return Answer({**content, "heads_found": heads}, words)


def _read_head(given: str) -> str:
    if _HASH.fullmatch(given):
        return given
    path = Path(given)
    if path.is_dir():
        earlier = Model.load(path).statement.earlier
        if earlier is None:
            raise LedgerInvalid(f"{given} was trained without a ledger, so it has no head of one")
        return earlier.head
    found = _HASH.search(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None
    if found is None:
        raise LedgerInvalid(
            f"{given} is neither a head (64 digits of 0-9 and a-f), nor a file or a model with one"
        )
    return found.group()
