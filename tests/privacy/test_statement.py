"""The statement: complete, never less than what was spent, and not to be forged."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from discreet.errors import ModelInvalid, UnchargedRelease
from discreet.privacy.accounting import delta_from
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Selection, budget_for
from discreet.privacy.gaussian.noise import FIXED_KEY
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import Statement, state_selection

BUDGET = Budget(1.0, 1e-5)
PUBLIC = ("the item catalogue", "the rating range, 1 to 5", "all settings")


def _ledger(rounds: int = 6) -> Ledger:
    ledger = Ledger(BUDGET)
    mu = BUDGET.mu_for(1e-7)
    ledger.charge("item counts above a threshold", mu=mu * math.sqrt(0.1), delta=1e-7)
    for number in range(1, rounds + 1):
        for part, share in (("matrices", 0.3), ("vectors", 0.6)):
            facts = {"noise_scale": 12.5, "sensitivity": 1.0}
            ledger.charge(f"round {number}: {part}", mu=mu * math.sqrt(share / rounds), detail=facts)
    return ledger


@pytest.fixture
def statement() -> Statement:
    return Statement.from_ledger(_ledger(), public=PUBLIC, not_protected=["who downloads the model"])


def test_the_text(statement: Statement) -> None:
    text = str(statement)
    for needed in (
        "one user, with all of that user's ratings",
        "add or remove one user",
        "epsilon 1 at delta 1e-5 (mu 0.2679)",
        "the rating range, 1 to 5",
        "noise scale 12.5",
        "delta 1e-7",
        "evaluation on private test data",
        "tuning by repeated fits",
        "the fact that a model was trained",
        "the time the training took",
        "who downloads the model",
    ):
        assert needed in text
    assert re.search(r"round 1\.\.6: matrices +6 x +mu 0\.0\d+ +30\.0 %", text)
    assert re.search(r"round 1\.\.6: vectors +6 x +mu 0\.0\d+ +60\.0 %", text)
    assert "NOT PRIVATE" not in text


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(st.text(min_size=1, max_size=300).filter(str.strip), min_size=1, max_size=6),
    public=st.lists(st.text(max_size=300), max_size=3),
)
def test_text_fits_a_terminal_and_json_comes_back(names: list[str], public: list[str]) -> None:
    ledger = Ledger(Budget(3.0, 1e-6))
    for name in names:
        ledger.charge(name, mu=0.1, detail={"noise_scale": 1 / 3, "of": name, "n": 3, "yes": True})
    statement = Statement.from_ledger(ledger, public=public)
    assert max(map(len, str(statement).splitlines())) <= 100
    again = Statement.from_json(statement.to_json())
    assert again == statement
    assert again.epsilon == statement.epsilon
    assert [type(v) for v in again.releases[0].detail.values()] == [float, str, int, bool]
    assert str(again) == str(statement)


@settings(max_examples=100, deadline=None)
@given(mus=st.lists(st.floats(1e-4, 0.3), min_size=1, max_size=20), exponent=st.floats(-12.0, -2.0))
def test_never_less_than_spent_not_even_when_printed(mus: list[float], exponent: float) -> None:
    ledger = Ledger(Budget(50.0, 10.0**exponent))
    for mu in mus:
        ledger.charge("sums", mu=mu)
    statement = Statement.from_ledger(ledger)
    assert statement.epsilon is not None
    assert statement.mu is not None
    assert delta_from(statement.mu, statement.epsilon) <= ledger.budget.delta
    shown = re.search(r"epsilon (\S+) at delta (\S+) \(mu (\S+)\)", " ".join(str(statement).split()))
    assert shown is not None
    epsilon, delta, mu = map(float, shown.groups())
    assert epsilon >= statement.epsilon
    assert delta >= ledger.budget.delta
    assert mu >= statement.mu
    assert epsilon <= statement.epsilon * 1.001


def test_what_was_charged_and_not_released_is_owed(statement: Statement) -> None:
    ledger = _ledger()  # nothing of it is ever redeemed
    assert Statement.from_ledger(ledger).epsilon == statement.epsilon


def test_stating_ends_the_run() -> None:
    ledger = _ledger()
    Statement.from_ledger(ledger)
    with pytest.raises(UnchargedRelease):
        ledger.charge("late", mu=1e-6)


def test_a_run_that_charged_nothing_cannot_be_called_private() -> None:
    with pytest.raises(ModelInvalid, match="without any charged release"):
        Statement.from_ledger(Ledger(BUDGET))


def test_not_private() -> None:
    statement = Statement.not_private("trained without noise", public=["all settings"])
    assert not statement.private
    assert (statement.epsilon, statement.delta, statement.mu) == (None, None, None)
    assert "NOT PRIVATE: trained without noise" in str(statement)
    assert "epsilon" not in str(statement)
    assert Statement.from_json(statement.to_json()) == statement
    with pytest.raises(ValidationError):
        Statement.not_private("")


def test_a_fixed_noise_key_is_not_private() -> None:
    ledger = _ledger()
    ledger.void(FIXED_KEY)
    ledger.void("something else, later")
    statement = Statement.from_ledger(ledger, public=PUBLIC)
    assert not statement.private
    assert statement.fixed_noise_key
    assert statement.epsilon is None
    assert len(statement.releases) == 13
    assert "NOT PRIVATE" in str(statement)
    assert "fixed key" in str(statement)


FORGERIES = {
    "smaller epsilon": {"epsilon": 0.99},
    "smaller delta": {"delta": 9e-6},
    "the threshold's delta left out": {"delta": 9.95e-6},
    "smaller mu": {"mu": 0.2},
    "smaller mu and epsilon": {"mu": 0.2, "epsilon": 0.8},
    "a release left out of mu": {"mu": 0.26, "epsilon": 0.97},
    "no epsilon": {"epsilon": None},
    "a delta of nothing": {"delta": 0.0},
    "a delta of nothing, with much epsilon": {"delta": 0.0, "epsilon": 1e6},
    "no releases": {"releases": []},
    "another unit": {"unit": "one rating"},
    "another relation": {"relation": "replace one rating"},
    "an unknown field": {"certified": True},
    "not private, with an epsilon": {"private": False, "reason": "none"},
    "private and not": {"reason": "no noise"},
    "private with a fixed key": {"fixed_noise_key": True},
    "text for a number": {"epsilon": "1.0"},
}


@pytest.mark.parametrize("forgery", FORGERIES, ids=str)
def test_a_forged_statement_is_refused(statement: Statement, forgery: str) -> None:
    fields = json.loads(statement.to_json()) | FORGERIES[forgery]
    with pytest.raises(ModelInvalid, match="cannot be trusted"):
        Statement.from_json(json.dumps(fields))


def test_an_adaptive_schedule_states_the_whole_budget() -> None:
    """What was spent depends on earlier releases then, so only the budget bounds it."""
    ledger = Ledger(Budget(2.0, 1e-6))
    ledger.redeem(ledger.charge("part", mu=0.1))
    stated = Statement.from_ledger(ledger, adaptive=True)
    assert stated.epsilon == 2.0
    assert stated.mu == Budget(2.0, 1e-6).mu
    assert Statement.from_json(stated.to_json()) == stated


def test_nothing_released() -> None:
    statement = Statement.nothing_released(public=["the item catalogue"])
    assert statement.private
    assert (statement.epsilon, statement.delta, statement.mu, statement.releases) == (0.0, 0.0, 0.0, ())
    text = " ".join(str(statement).split())
    assert "epsilon 0 at delta 0: nothing computed from ratings was released" in text
    assert "the item catalogue" in text
    assert "Releases" not in text
    assert Statement.from_json(statement.to_json()) == statement


@pytest.mark.parametrize(
    "forgery",
    [
        {"epsilon": 1.0},
        {"delta": 1e-6},
        {"mu": 0.1},
        {"mu": None},
        {"delta": None},
        {"releases": [{"name": "sums", "mu": 0.1, "share": 1.0}]},
        {"releases": [{"name": "sums", "mu": 0.1, "share": 1.0}], "mu": 0.1},
        {"selection": {"mean_trials": 10.0, "score_share": 0.1}},
    ],
    ids=str,
)
def test_zero_is_stated_for_no_release_and_for_no_release_only(forgery: dict[str, object]) -> None:
    fields = json.loads(Statement.nothing_released().to_json()) | forgery
    with pytest.raises(ModelInvalid, match="cannot be trusted"):
        Statement.from_json(json.dumps(fields))


SELECTION = Selection(mean_trials=10.0, score_share=0.1)


@pytest.fixture
def selected() -> Statement:
    """The statement of a model that won a selection within ``BUDGET``; its two ledgers are spent to the end."""
    mu = SELECTION.trial_mu(BUDGET)
    fit = Ledger(budget_for(mu * math.sqrt(0.9), BUDGET.delta))
    fit.charge("sums", mu=fit.remaining_mu)
    score = Ledger(budget_for(mu * math.sqrt(0.1), BUDGET.delta))
    score.charge("score", mu=score.remaining_mu)
    trial = Statement.from_ledger(fit, public=PUBLIC)
    return state_selection(trial, score, SELECTION, BUDGET, public=["the space of settings"])


def test_a_selected_model_states_what_the_whole_selection_owes(selected: Statement) -> None:
    assert (selected.epsilon, selected.delta) == (1.0, 1e-5)
    assert selected.mu == SELECTION.trial_mu(BUDGET)
    assert [(r.name, round(r.share, 6)) for r in selected.releases] == [("sums", 0.9), ("score", 0.1)]
    # The searched settings follow from the ratings, so "all settings" are public no more.
    assert selected.public == (*PUBLIC[:2], "the space of settings")
    alone = delta_from(selected.mu, 0.5)
    assert alone < 1e-5  # one trial alone would be far cheaper; the statement must not say so
    text = " ".join(str(selected).split())
    assert "epsilon 1 at delta 1e-5 for the whole selection (mu 0.1174 for any one trial)" in text
    assert "a random number of trials, 10 on average (geometric)" in text
    assert "10 % of mu squared on its score" in text
    assert "tuning by repeated fits" not in text
    assert "the number of trials, towards whoever can watch the search" in text
    assert max(map(len, str(selected).splitlines())) <= 100
    assert Statement.from_json(selected.to_json()) == selected


@pytest.mark.parametrize(
    "forgery",
    [
        {"epsilon": 0.999},
        {"delta": 9e-6},
        {"mu": 0.1},
        {"mu": 0.118},
        {"mu": 0.0},
        {"delta": 0.0},
        {"delta": 1e-310},
        {"selection": None, "epsilon": 0.1},
        {"selection": {"mean_trials": 11.0, "score_share": 0.1}},
        {"selection": {"mean_trials": 1.0, "score_share": 0.1}},
        {"selection": {"mean_trials": 10.0, "score_share": 0.1, "distribution": "fixed"}},
        {"selection": {"mean_trials": 10.0, "score_share": 0.1, "trials": 7}},
        {"releases": [{"name": "sums", "mu": 0.1, "share": 1.0, "delta": 1e-7}]},
    ],
    ids=str,
)
def test_a_selection_cannot_be_made_cheaper_on_paper(selected: Statement, forgery: dict[str, object]) -> None:
    fields = json.loads(selected.to_json()) | forgery
    with pytest.raises(ModelInvalid, match="cannot be trusted"):
        Statement.from_json(json.dumps(fields))


def test_a_trial_may_not_have_been_allowed_more_than_is_accounted_for(selected: Statement) -> None:
    mu = SELECTION.trial_mu(BUDGET)

    def ledger(cost: float, *, charged: bool = True) -> Ledger:
        made = Ledger(budget_for(cost, BUDGET.delta))
        if charged:
            made.charge("something", mu=1e-3)
        return made

    fair = math.sqrt(0.5) * mu
    state_selection(Statement.from_ledger(ledger(fair), adaptive=True), ledger(fair), SELECTION, BUDGET)
    # Adaptive: it listed little, but could have spent its whole budget.
    trial = Statement.from_ledger(ledger(5.0 * mu), adaptive=True)
    with pytest.raises(ModelInvalid, match="allowed to cost more"):
        state_selection(trial, ledger(fair), SELECTION, BUDGET)
    with pytest.raises(ModelInvalid, match="allowed to cost more"):
        state_selection(Statement.from_ledger(ledger(fair)), ledger(5.0 * mu), SELECTION, BUDGET)
    with pytest.raises(ModelInvalid, match="not charged"):
        state_selection(Statement.from_ledger(ledger(fair)), ledger(fair, charged=False), SELECTION, BUDGET)
    with pytest.raises(ModelInvalid, match="selection itself"):
        state_selection(selected, ledger(fair), SELECTION, BUDGET)


def test_only_private_trials_can_be_chosen_from() -> None:
    score = Ledger(BUDGET)
    score.charge("score", mu=0.01)
    for trial in (Statement.not_private("no noise"), Statement.nothing_released()):
        with pytest.raises(ModelInvalid, match="only private trials"):
            state_selection(trial, score, SELECTION, BUDGET)
