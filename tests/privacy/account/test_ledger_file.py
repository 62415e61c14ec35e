"""Runs in a ledger: what they reserve, what they count as, and who is refused."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet
from discreet import Budget, LedgerFile
from discreet.data.synthetic import market
from discreet.errors import BudgetExceeded, BudgetInvalid, LedgerInvalid, SettingsInvalid, UnchargedRelease
from discreet.methods import tuning
from discreet.methods.tuning import tune
from discreet.privacy.account.account import Charged, Plan
from discreet.privacy.account.ledger_file import open_run
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.costs import Cost, Price
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Charge, Ledger
from discreet.privacy.statement import Statement

BUDGET = Budget(1.0, 1e-6)
WHOLE = Price(kind="gaussian", mu=BUDGET.mu)
HALF = Price(kind="gaussian", mu=BUDGET.mu / math.sqrt(2))


@pytest.fixture
def ledger(tmp_path: Path) -> LedgerFile:
    return LedgerFile(tmp_path / "shop.ledger")


def entered(
    ledger: LedgerFile,
    *paid: Price,
    adaptive: bool = False,
    group: str | None = None,
    cost: Price = WHOLE,
) -> None:
    file = LedgerFile(ledger.path, group=group)
    with file.begin(BUDGET, cost, method="m", adaptive=adaptive) as run:
        for number, price in enumerate(paid):
            run.pay(f"round {number}", price)
        run.end()


def epsilon(ledger: LedgerFile) -> float:
    return ledger.account().epsilon(1e-6)


def test_a_run_counts_whole_while_it_goes_on_and_as_charged_once_it_is_over(ledger: LedgerFile) -> None:
    with ledger.begin(BUDGET, WHOLE, method="m", adaptive=False) as run:
        run.pay("round 1", HALF)
        assert epsilon(ledger) == pytest.approx(1.0)
        run.end()
    assert epsilon(ledger) == pytest.approx(epsilon_from(HALF.mu, 1e-6))
    with pytest.raises(UnchargedRelease):
        run.pay("round 2", HALF)


def test_a_run_whose_costs_followed_from_releases_counts_whole(ledger: LedgerFile) -> None:
    entered(ledger, HALF, adaptive=True)
    assert epsilon(ledger) == pytest.approx(1.0)


def test_a_run_that_charged_nothing_costs_nothing(ledger: LedgerFile) -> None:
    entered(ledger, adaptive=True)
    with pytest.raises(ZeroDivisionError), ledger.begin(BUDGET, WHOLE, method="m", adaptive=True):
        raise ZeroDivisionError
    assert [run.state for run in ledger.account().runs.values()] == ["ended", "failed"]
    assert epsilon(ledger) == 0.0


def test_a_cap_refuses_the_run_that_does_not_fit_and_notes_it(ledger: LedgerFile) -> None:
    ledger.set_cap(Budget(epsilon_from(BUDGET.mu * math.sqrt(3), 1e-6) + 1e-9, 1e-6))
    for _ in range(3):
        entered(ledger, WHOLE)
    with pytest.raises(BudgetExceeded, match="has no room for epsilon 1"):
        entered(ledger, WHOLE)
    assert [run.state for run in ledger.account().runs.values()] == [*["ended"] * 3, "refused"]
    ledger.set_cap(None)
    entered(ledger, WHOLE)
    assert epsilon(ledger) == pytest.approx(epsilon_from(2 * BUDGET.mu, 1e-6))


def test_a_run_that_has_charged_leaves_others_what_its_whole_budget_leaves(ledger: LedgerFile) -> None:
    ledger.set_cap(BUDGET)
    with ledger.begin(BUDGET, WHOLE, method="m", adaptive=False) as run:
        run.pay("half of it", HALF)
        with pytest.raises(BudgetExceeded, match="has no room"):
            entered(ledger, HALF)
        run.end()
    with ledger.begin(Budget(0.5, 1e-6), HALF, method="m", adaptive=False) as run:
        run.pay("the other half", HALF)
    assert epsilon(ledger) == pytest.approx(1.0)


def test_of_two_runs_at_once_the_first_to_charge_has_the_room(ledger: LedgerFile) -> None:
    ledger.set_cap(BUDGET)
    with (
        ledger.begin(BUDGET, WHOLE, method="m", adaptive=False) as late,
        ledger.begin(BUDGET, WHOLE, method="m", adaptive=False) as run,
    ):
        run.pay("round 1", HALF)
        with pytest.raises(BudgetExceeded, match="beside all that runs"):
            late.pay("round 1", HALF)
    assert epsilon(ledger) == pytest.approx(epsilon_from(HALF.mu, 1e-6))


def test_a_charge_beyond_its_budget_needs_room_under_the_cap(ledger: LedgerFile) -> None:
    ledger.set_cap(BUDGET)
    with ledger.begin(Budget(0.5, 1e-6), HALF, method="m", adaptive=False) as run:
        run.pay("round 1", HALF)
        run.pay("round 1 again", HALF)  # the cap has room for it
        with pytest.raises(BudgetExceeded):
            run.pay("and again", HALF)
        assert len(next(iter(ledger.account().runs.values())).charges) == 2


@pytest.mark.parametrize(
    "beyond",
    [
        Price(kind="gaussian", mu=0.01, delta=9e-7),
        Price(kind="pure", epsilon=0.5),
        Price(kind="approximate", epsilon=0.1, delta=9e-7),
        Price(kind="selection", mu=0.1, epsilon=0.9, delta=1e-6, mean_trials=10.0),
    ],
    ids=lambda price: price.kind,
)
def test_every_part_of_a_charge_needs_room(ledger: LedgerFile, beyond: Price) -> None:
    entered(ledger, HALF)
    ledger.set_cap(BUDGET)
    with ledger.begin(Budget(0.5, 1e-6), HALF, method="m", adaptive=False) as run:
        run.pay("round 1", Price(kind="gaussian", mu=0.9 * HALF.mu))
        with pytest.raises(BudgetExceeded, match="has no room"):
            run.pay("something else", beyond)


def test_a_run_that_goes_on_after_a_stop_needs_room_again(ledger: LedgerFile) -> None:
    ledger.set_cap(BUDGET)
    known = {"method": "m", "adaptive": False, "trust": "silos", "run": "ab" * 16}
    with ledger.begin(BUDGET, WHOLE, **known) as run:  # type: ignore[arg-type]
        run.pay("round 1", Price(kind="gaussian", mu=0.1 * BUDGET.mu))
    entered(ledger, Price(kind="gaussian", mu=0.1 * BUDGET.mu), cost=HALF)
    with pytest.raises(BudgetExceeded, match="has no room"):
        ledger.begin(BUDGET, WHOLE, **known)  # type: ignore[arg-type]


def test_a_groups_statement_has_its_own_runs_and_those_about_everybody(ledger: LedgerFile) -> None:
    entered(ledger, WHOLE)
    for group in ("may", "may", "june"):
        entered(ledger, WHOLE, group=group)
    for asked, runs in (("may", 3), ("june", 2), ("july", 1), (None, 1)):
        with LedgerFile(ledger.path, group=asked).begin(BUDGET, WHOLE, method="m", adaptive=False) as run:
            known = run.earlier
        assert known.runs == runs
        assert known.earlier_epsilon == pytest.approx(epsilon_from(BUDGET.mu * math.sqrt(runs), 1e-6))
        assert known.epsilon == pytest.approx(epsilon_from(BUDGET.mu * math.sqrt(runs + 1), 1e-6))


def test_a_statement_gives_the_sum_at_the_runs_delta_and_the_cap_at_its_own(ledger: LedgerFile) -> None:
    ledger.set_cap(Budget(9.0, 1e-4))
    entered(ledger, WHOLE)
    with ledger.begin(BUDGET, WHOLE, method="m", adaptive=False) as run:
        known = run.earlier
    assert (known.delta, known.cap_epsilon, known.cap_delta) == (1e-6, 9.0, 1e-4)
    assert known.epsilon == pytest.approx(epsilon_from(BUDGET.mu * math.sqrt(2), 1e-6))


def test_groups_that_are_disjoint_pay_for_themselves_and_for_what_is_about_everybody(
    ledger: LedgerFile,
) -> None:
    entered(ledger, WHOLE)
    for group in ("january", "february", "february"):
        entered(ledger, WHOLE, group=group)
    account = ledger.account()
    for group, runs in (("january", 2), ("february", 3), ("march", 1)):
        assert account.cost(group).mu == pytest.approx(BUDGET.mu * math.sqrt(runs))
    assert account.epsilon(1e-6) == pytest.approx(epsilon_from(BUDGET.mu * math.sqrt(3), 1e-6))
    assert account.undivided.mu == pytest.approx(2 * BUDGET.mu)
    ledger.set_cap(Budget(epsilon_from(BUDGET.mu * math.sqrt(3), 1e-6) + 1e-9, 1e-6))
    entered(ledger, WHOLE, group="january")
    with pytest.raises(BudgetExceeded):
        entered(ledger, WHOLE, group="february")
    with pytest.raises(BudgetExceeded):  # for everybody, so for february too
        entered(ledger, WHOLE)


def test_a_run_whose_process_was_killed_counts_whole_once_it_has_charged(ledger: LedgerFile) -> None:
    code = (
        "import os, sys; from discreet import Budget, LedgerFile; from discreet.privacy.costs import Price; "
        f"run = LedgerFile({str(ledger.path)!r}).begin(Budget(1.0, 1e-6), Price(kind='gaussian', mu={WHOLE.mu!r}), "
        f"method='m', adaptive=False); charge = Price(kind='gaussian', mu={HALF.mu!r})\n"
        "if sys.argv[1] == 'charged': run.pay('a', charge)\n"
        "os.kill(os.getpid(), 9)"
    )
    for state, cost in (("begun", 0.0), ("charged", 1.0)):
        assert subprocess.run([sys.executable, "-c", code, state]).returncode == -9
        assert epsilon(ledger) == pytest.approx(cost)
    assert [run.state for run in ledger.account().runs.values()] == ["running", "running"]
    assert [path.name for path in ledger.path.parent.iterdir()] == ["shop.ledger"]


def test_a_run_that_another_process_has_ended_can_charge_nothing_more(ledger: LedgerFile) -> None:
    known = {"method": "m", "adaptive": False, "run": "ab" * 16}
    run, other = (ledger.begin(BUDGET, WHOLE, **known) for _ in range(2))  # type: ignore[arg-type]
    other.end()
    with pytest.raises(UnchargedRelease, match="has ended it"):
        run.pay("late", HALF)
    assert epsilon(ledger) == 0.0


def test_a_ledger_set_back_under_a_run_is_not_charged(ledger: LedgerFile) -> None:
    ledger.set_cap(BUDGET)
    old = ledger.path.read_bytes()
    run = ledger.begin(BUDGET, WHOLE, method="m", adaptive=False)
    ledger.path.write_bytes(old)
    with pytest.raises(LedgerInvalid, match="set back"):
        run.pay("round 1", HALF)
    assert ledger.path.read_bytes() == old


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of files")
@pytest.mark.parametrize("room", [1_000, 10_000], ids=["none for what is put aside", "none for the charge"])
def test_a_full_disk_charges_nothing_and_leaves_a_whole_file(ledger: LedgerFile, room: int) -> None:
    import resource

    with ledger.begin(BUDGET, WHOLE, method="m", adaptive=False) as run:
        for number in range(60):
            run.pay(f"round {number}", Price(kind="gaussian", mu=0.001))
        before = ledger.verify().records
        own = Ledger(BUDGET)
        own.keep_in(run)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        try:
            with pytest.raises(LedgerInvalid, match="cannot be written"):
                own.charge("the last", mu=HALF.mu)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert ledger.verify().records == before
        assert own.charges == ()
        own.charge("the last", mu=HALF.mu)  # there is room again
    assert [run.charges[-1].name for run in ledger.account().runs.values()] == ["the last"]


def test_every_charge_is_on_the_disk_before_its_noise_is_drawn(
    ledger: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written in a transaction of its own: the release before it is out, and its own charge is in the file."""
    events: list[str] = []
    normals, redeem = Noise.normals, Ledger.redeem

    def drawn(self: Noise, size: int) -> object:
        charges = [record for record in ledger.verify().records if isinstance(record, Charged)]
        assert len(charges) == events.count("out") + 1
        events.append("noise")
        return normals(self, size)

    def out(self: Ledger, charge: Charge) -> None:
        redeem(self, charge)
        events.append("out")

    monkeypatch.setattr(Noise, "normals", drawn)
    monkeypatch.setattr(Ledger, "redeem", out)
    ratings = market(1_200, 40, 12_000, rng=0)
    fitted = discreet.DPALS(rank=2, rounds=2).fit(ratings, Budget(8.0, 1e-5), rng=0, ledger=ledger)
    assert events.count("out") == len(fitted.statement_.releases) > 3
    (run,) = ledger.account().runs.values()
    assert [charge.name for charge in run.charges] == [one.name for one in fitted.statement_.releases]
    assert [charge.price.mu for charge in run.charges] == [one.mu for one in fitted.statement_.releases]


@pytest.mark.parametrize("method", [discreet.ItemMean(), discreet.BudgetedALS(rank=1, rounds=2)])
def test_statements_say_what_earlier_runs_cost(ledger: LedgerFile, method: discreet.PrivateMethod) -> None:
    ratings, budget = market(1_200, 40, 12_000, rng=0), Budget(2.0, 1e-6)
    said = [method.fit(ratings, budget, rng=0, ledger=ledger.path).statement_ for _ in range(3)]
    for number, statement in enumerate(said):
        earlier = statement.earlier
        assert earlier is not None
        assert (earlier.ledger, earlier.runs) == ("shop", number)
        assert earlier.epsilon == pytest.approx(
            epsilon_from(budget.mu * math.sqrt(number + 1), 1e-6), rel=1e-9
        )
        assert earlier.epsilon >= statement.epsilon
        assert Statement.from_json(statement.to_json()) == statement
        ledger.verify(earlier.head)
    text = " ".join(str(said[2]).split())
    assert "shop: 2 earlier runs on the same data cost epsilon 2.93; with this one epsilon 3.67" in text
    assert [run.state for run in ledger.account().runs.values()] == ["ended"] * 3
    assert method.fit(ratings, budget, rng=0).statement_.earlier is None


def test_discovery_reserves_and_charges_its_part_of_delta(ledger: LedgerFile) -> None:
    whole = market(2_000, 40, 20_000, rng=0)
    assert whole.catalogue is not None
    users = np.repeat(np.arange(whole.n_users), np.diff(whole.indptr))
    columns = {"user": users, "item": whole.catalogue.ids[whole.items], "stars": whole.values}
    ratings = discreet.Ratings.from_frame(
        pl.DataFrame(columns), user="user", item="item", rating="stars", rating_range=(1, 5)
    )
    budget = Budget(5.0, 1e-5)
    method = discreet.ItemMean(discover_share=0.2)
    statement = method.fit(ratings, budget, ledger=ledger).statement_
    (run,) = ledger.account().runs.values()
    assert run.cost.delta == pytest.approx(0.2e-5)
    assert run.asked.reserved == Price(
        kind="gaussian", mu=budget.mu_for(0.2 * budget.delta), delta=0.2 * budget.delta
    )
    assert run.epsilon == pytest.approx(statement.epsilon)
    method.fit(ratings, budget, ledger=ledger)
    both = ledger.account()
    assert both.delta == 1e-5
    assert both.epsilon(1e-5) == pytest.approx(
        epsilon_from(budget.mu_for(0.2e-5) * math.sqrt(2), 1e-5, 0.4e-5)
    )


def test_a_search_is_one_charge_and_nothing_tells_how_many_trials_there_were(
    ledger: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratings, budget = market(600, 30, 5_000, rng=0), Budget(8.0, 1e-5)
    monkeypatch.setattr("discreet.privacy.account.ledger_file.now", lambda: "then")
    written = []
    for trials in (1, 4):
        monkeypatch.setattr(tuning, "draw_trials", lambda mean, trials=trials: trials)
        done: list[bytes] = []
        run_trial = tuning._Trial.run

        def watched(
            self: object, drawn: dict[str, object], done: list[bytes] = done, own=run_trial
        ) -> object:
            done.append(ledger.path.read_bytes())
            return own(self, drawn)

        monkeypatch.setattr(tuning._Trial, "run", watched)
        tuned = tune(discreet.PrivateSVD, {"rank": [1, 2]}, ratings, budget, rng=0, ledger=ledger)
        monkeypatch.setattr(tuning._Trial, "run", run_trial)
        assert len(done) == trials
        # All that is ever written was written before the first trial.
        assert set(done) == {ledger.path.read_bytes()}
        written.append(len(ledger.verify().records))
        assert tuned.statement_.earlier is not None
    assert written == [4, 7]  # the ledger's beginning; each search begins, is charged, and ends
    first, second = ledger.account().runs.values()
    assert (first.state, len(first.charges), first.cost) == ("ended", 1, second.cost)
    assert first.epsilon == pytest.approx(8.0)
    assert 8.0 < ledger.account().epsilon(1e-5) < 16.0


def test_a_search_that_the_cap_has_no_room_for_tries_nothing(
    ledger: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.set_cap(Budget(7.0, 1e-5))
    monkeypatch.setattr(tuning._Trial, "run", lambda self, drawn: pytest.fail("a trial was run"))
    ratings = market(600, 30, 5_000, rng=0)
    with pytest.raises(BudgetExceeded):
        tune(discreet.PrivateSVD, {"rank": [1, 2]}, ratings, Budget(8.0, 1e-5), ledger=ledger)
    assert next(iter(ledger.account().runs.values())).state == "refused"


def test_noise_of_ones_own_is_refused_under_a_ledger(ledger: LedgerFile) -> None:
    noise = Noise.fixed_key_not_private(b"1")
    with pytest.raises(SettingsInvalid, match="own noise"):
        discreet.ItemMean().fit(market(600, 30, 5_000, rng=0), BUDGET, noise=noise, ledger=ledger)
    assert not ledger.path.exists()


def test_a_run_that_was_entered_for_another_budget_is_refused(ledger: LedgerFile) -> None:
    with ledger.begin(BUDGET, WHOLE, method="m", adaptive=False) as run:
        with pytest.raises(BudgetInvalid, match="another budget"):
            open_run(run, Budget(2.0, 1e-6), WHOLE, method="m", adaptive=False)
        assert open_run(run, BUDGET, WHOLE, method="m", adaptive=False) is run


def test_a_run_that_may_be_stopped_goes_on_where_it_was(ledger: LedgerFile) -> None:
    known = "ab" * 16
    for rounds in (2, 3):
        with ledger.begin(BUDGET, WHOLE, method="m", adaptive=True, trust="silos", run=known) as run:
            for number in range(rounds):
                run.pay(f"round {number}", Price(kind="gaussian", mu=0.01))
    with pytest.raises(LedgerInvalid, match="another budget"):
        ledger.begin(Budget(2.0, 1e-6), WHOLE, method="m", adaptive=True, trust="silos", run=known)
    (after,) = ledger.account().runs.values()
    assert (after.state, len(after.charges)) == ("stopped", 5)
    assert after.epsilon == pytest.approx(1.0)


def test_the_delta_is_the_caps_or_the_largest_or_where_that_is_used_up_the_sum(ledger: LedgerFile) -> None:
    entered(ledger, WHOLE)
    entered(ledger, WHOLE)
    assert ledger.account().delta == 1e-6
    direct = Price(kind="gaussian", mu=0.1, delta=6e-7)
    with ledger.begin(BUDGET, direct, method="m", adaptive=True) as run:
        run.pay("discovery", direct)
    assert ledger.account().delta == pytest.approx(3e-6)
    ledger.set_cap(Budget(9.0, 1e-5))
    assert ledger.account().delta == 1e-5


def test_a_plan_says_what_fits_and_what_fits_does() -> None:
    cap, monthly = Budget(4.0, 1e-6), Budget(1.0, 1e-6)
    for spent in (Cost(), Cost(mu=0.3), Cost(mu=0.2, pure=(0.3,))):
        plan = Plan(spent, monthly, 12)
        each = plan.epsilon_each(cap, 12)
        planned = [Cost(mu=Budget(each, 1e-6).mu)] * 12
        assert Cost.together([spent, *planned]).within(cap)
        more = [Cost(mu=Budget(each * 1.0001, 1e-6).mu)] * 12
        assert not Cost.together([spent, *more]).within(cap)
        runs = plan.runs_that_fit(cap)
        assert Cost.together([spent, *[Cost(mu=monthly.mu)] * runs]).within(cap)
        assert not Cost.together([spent, *[Cost(mu=monthly.mu)] * (runs + 1)]).within(cap)
    assert Plan(Cost(mu=2.0), monthly, 12).epsilon_each(cap, 1) == 0.0
    assert Plan(Cost(mu=2.0), monthly, 12).runs_that_fit(cap) == 0
