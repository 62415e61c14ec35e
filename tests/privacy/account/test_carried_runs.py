"""Runs that a model carries into a ledger: entered once, whole, about everybody, before anything is charged."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from discreet import Budget, LedgerFile
from discreet.errors import BudgetExceeded, BudgetInvalid, LedgerInvalid, SettingsInvalid
from discreet.privacy.account.account import Plan
from discreet.privacy.account.ledger_file import ResumedRun, open_run
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.costs import Carried, Cost, Price, RunCost
from discreet.privacy.ledger import Charge

BUDGET = Budget(1.0, 1e-6)
WHOLE = Price(kind="gaussian", mu=BUDGET.mu)
RUN = RunCost(run="cd" * 16, model="ab" * 32, epsilon=1.0, delta=1e-6, price=WHOLE)
# What the same run took to find its catalogue.
FOUND = RUN.model_copy(
    update={
        "part": "catalogue",
        "model": None,
        "price": Price(kind="gaussian", mu=0.5 * BUDGET.mu, delta=1e-7),
    }
)


@pytest.fixture
def ledger(tmp_path: Path) -> LedgerFile:
    return LedgerFile(tmp_path / "shop.ledger")


def enter(ledger: LedgerFile, carried: Carried, *, group: str | None = None) -> int:
    """A run that carries these; how many runs the ledger has then."""
    file = LedgerFile(ledger.path, group=group)
    with file.begin(BUDGET, WHOLE, method="m", adaptive=False, carried=carried) as run:
        run.pay("sums", WHOLE)
        run.end()
    return len(ledger.account().runs)


def test_a_run_whose_catalogue_is_entered_is_entered_whole_when_it_is_carried(ledger: LedgerFile) -> None:
    assert enter(ledger, Carried(runs=(FOUND,))) == 2
    assert enter(ledger, Carried(runs=(FOUND,))) == 3
    assert enter(ledger, Carried(runs=(RUN,))) == 5
    assert enter(ledger, Carried(runs=(RUN,))) == 6
    assert enter(ledger, Carried(runs=(FOUND,))) == 7
    cost = ledger.account().cost()
    assert cost.mu == pytest.approx(BUDGET.mu * math.sqrt(5 + 1 + 0.25))
    assert cost.delta == 1e-7


def test_whom_an_unknown_start_was_about_is_not_known_so_everybody_pays(ledger: LedgerFile) -> None:
    enter(ledger, Carried(runs=(RUN,)), group="may")
    for group, runs in (("may", 2), ("june", 1), (None, 1)):
        assert ledger.account().cost(group).mu == pytest.approx(BUDGET.mu * math.sqrt(runs))


def test_what_is_not_private_is_not_entered(ledger: LedgerFile) -> None:
    with pytest.raises(SettingsInvalid, match="no limit"):
        enter(ledger, Carried(runs=(RUN,), fault="it was trained without noise"))
    assert not ledger.path.exists()


def test_a_run_is_not_charged_to_a_reservation_without_what_it_carries(ledger: LedgerFile) -> None:
    def charged(carried: Carried | None, budget: Budget = BUDGET) -> None:
        run = ledger.begin(BUDGET, WHOLE, method="m", adaptive=False, carried=Carried(runs=(RUN,)))
        with run:
            assert open_run(run, budget, WHOLE, method="m", adaptive=False, carried=carried) is run

    charged(None)
    charged(Carried(runs=(RUN,)))
    other = RUN.model_copy(update={"run": "ef" * 16})
    for carried in (Carried(runs=(RUN, other)), Carried(runs=(RUN,), fault="it was trained without noise")):
        with pytest.raises(BudgetInvalid, match="without the earlier runs"):
            charged(carried)
    with pytest.raises(BudgetInvalid, match="another budget"):
        charged(None, Budget(BUDGET.epsilon, 1e-7))


def test_a_reservation_holds_its_delta_too(ledger: LedgerFile) -> None:
    """A run that finds a catalogue has reserved a part of delta, which its first charges need not have taken yet."""
    ledger.set_cap(Budget(9.0, 1e-6))
    mu = 0.1 * BUDGET.mu
    finds = Price(kind="gaussian", mu=mu, delta=6e-7)
    with ledger.begin(BUDGET, finds, method="m", adaptive=False) as run:
        run.pay("a first sum", Price(kind="gaussian", mu=0.5 * mu))
        with pytest.raises(BudgetExceeded):
            ledger.begin(BUDGET, finds, method="m", adaptive=False)
        run.end()
    with ledger.begin(BUDGET, finds, method="m", adaptive=False) as after:
        after.pay("both", finds)


def test_a_ledgers_sum_is_at_the_delta_that_the_statement_gives_for_the_same_runs(ledger: LedgerFile) -> None:
    """Somebody who carries a run of a larger delta states the sum at that one; so does the ledger beside it."""
    first = RUN.model_copy(update={"delta": 1e-5})
    with ledger.begin(BUDGET, WHOLE, method="m", adaptive=False, carried=Carried(runs=(first,))) as run:
        assert run.earlier.delta == 1e-5
        assert run.earlier.epsilon == pytest.approx(epsilon_from(BUDGET.mu * math.sqrt(2.0), 1e-5))


def test_a_resumed_run_goes_the_way_that_it_has_paid_for(ledger: LedgerFile) -> None:
    half = Price(kind="gaussian", mu=0.5 * BUDGET.mu)
    for name in ("counts", "pairs"):
        with ledger.begin(BUDGET, WHOLE, method="m", adaptive=False, run="ab" * 16) as run:
            if not run.charges:
                run.pay("counts", half)
            resumed = ResumedRun(run, released=1, intended=False)
            charge = Charge(name, half.mu, 0.0, 0.0, {})
            if name == "counts":
                resumed.charge(charge)
            else:
                with pytest.raises(LedgerInvalid, match="another run"):
                    resumed.charge(charge)
            run.end("stopped")
        assert len(ledger.account().runs["ab" * 16].charges) == 1


def test_a_plan_stands_on_what_is_spent() -> None:
    plan = Plan(Cost(mu=0.7, delta=1e-8), BUDGET, 2)
    assert plan.after.mu == pytest.approx(math.sqrt(0.7**2 + 2.0 * BUDGET.mu**2))
    assert plan.after.delta == 1e-8
