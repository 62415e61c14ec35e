"""Tuning: what a trial costs, what is drawn, what is refused, and that only the best leaves."""

from __future__ import annotations

import logging
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import ALS, EASE, Budget, BudgetedALS, Ratings, Statement
from discreet.errors import BudgetInvalid, CatalogueMissing, SettingsInvalid
from discreet.methods import tuning
from discreet.methods.method import PrivateMethod
from discreet.methods.public.half import Facts, Queries
from discreet.methods.public.settings import PrivateSettings
from discreet.methods.published.private.baselines import BaselineContributions
from discreet.methods.published.public.baselines import ITEM_MEAN
from discreet.methods.tuning import draw_settings, release_score, tune
from discreet.model.item_side import ItemSide
from discreet.privacy import Gate
from discreet.privacy.costs import Selection

BUDGET = Budget(5.0, 1e-6)
GROWTHS = np.linspace(1.0, 2.0, 100_000).tolist()
SPACE = {"rank": [0, 2, 4], "rounds": [1, 2, 3], "growth": [1.0, 1.3, 1.8]}


def trials(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Make the drawn number of trials this one."""
    monkeypatch.setattr(tuning, "draw_trials", lambda mean: number)


def watch(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """All releases from now on, with what they cost."""
    released: list[tuple[str, float]] = []
    original = Gate.release_totals

    def watched(self: Gate, name: str, *sums: Any, mu: float, delta: float = 0.0, **other: Any) -> Any:
        released.append((name, mu))
        assert delta == 0.0
        return original(self, name, *sums, mu=mu, delta=delta, **other)

    monkeypatch.setattr(Gate, "release_totals", watched)
    return released


def test_no_trial_costs_more_than_its_part(market: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    trials(monkeypatch, 4)
    released = watch(monkeypatch)
    fitted = tune(BudgetedALS, SPACE, market, BUDGET, mean_trials=3.0, rng=0)
    allowed = Selection(mean_trials=3.0, score_share=0.1).trial_mu(BUDGET)
    spent, scores = [0.0], []
    for name, mu in released:
        spent[-1] += mu**2
        if name == "score of the model":
            scores.append(mu**2)
            spent.append(0.0)
    assert spent.pop() == 0.0
    assert len(spent) == 4
    assert max(spent) <= allowed**2
    assert min(spent) > allowed**2 * (1.0 - 1e-9)
    assert scores == [pytest.approx(0.1 * allowed**2, rel=1e-9)] * 4
    statement = fitted.statement_
    assert (statement.epsilon, statement.delta, statement.mu) == (5.0, 1e-6, allowed)
    assert statement.selection == Selection(mean_trials=3.0, score_share=0.1)
    assert sum(release.mu**2 for release in statement.releases) <= allowed**2
    assert statement.releases[-1].name == "score of the model"
    assert Statement.from_json(statement.to_json()) == statement


def test_a_search_tells_the_logger_nothing(
    market: Ratings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A line for each fit would tell how many trials there were."""
    trials(monkeypatch, 3)
    with caplog.at_level(logging.DEBUG, logger="discreet"):
        tune(BudgetedALS, SPACE, market, BUDGET, rng=0)
    assert caplog.records == []
    with caplog.at_level(logging.DEBUG, logger="discreet"):
        BudgetedALS(rank=2, rounds=1).fit(market, BUDGET, rng=0)
    assert caplog.records != []


def test_the_best_score_wins_and_leaves_alone(market: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    original = release_score

    def watched(gate: Gate, name: str, side: ItemSide, *parts: Ratings, mu: float) -> Any:
        seen.append((original(gate, name, side, *parts, mu=mu), side))
        return seen[-1][0]

    monkeypatch.setattr(tuning, "release_score", watched)
    trials(monkeypatch, 6)
    fitted = tune(BudgetedALS, SPACE, market, BUDGET, rng=0)
    assert len(seen) == 6
    score, side = min(seen, key=lambda one: one[0].total)
    assert fitted.model_.item_side is side
    assert fitted.score_ == score.value
    assert fitted.model_.settings["growth"] == fitted.settings_["growth"]
    assert fitted.model_.statement is fitted.statement_
    assert set(fitted.settings_) == set(SPACE)
    assert set(vars(fitted)) == {"model_", "statement_", "settings_", "score_", "rank_", "rounds_"}


def test_a_seed_decides_neither_settings_nor_their_number(market: Ratings) -> None:
    """Whoever knows the seed must not be able to tell which trial won."""
    small = market.take_users(slice(0, 300))
    found = set()
    space = {"growth": GROWTHS}
    for _ in range(3):
        np.random.seed(0)  # noqa: NPY002
        found.add(draw_settings(space)["growth"])
    for _ in range(3):
        np.random.seed(0)  # noqa: NPY002
        fitted = tune(
            BudgetedALS,
            space,
            small,
            Budget(20.0, 1e-6),
            rng=0,
            settings={"rank": 0},
        )
        found.add(fitted.settings_["growth"])
    assert len(found) == 6
    counted: Counter[int] = Counter()
    for _ in range(300):
        np.random.seed(0)  # noqa: NPY002
        counted[tuning.draw_trials(4.0)] += 1
    assert len(counted) > 5


def test_draws_are_independent_and_every_choice_is_as_likely() -> None:
    drawn = [draw_settings({"a": GROWTHS, "b": [1, "x", True, 2.5]}) for _ in range(400)]
    assert min(Counter(str(one["b"]) for one in drawn).values()) > 60
    places = np.array([one["a"] for one in drawn])
    assert len(set(places)) > 390
    steps = places - places.mean()
    assert abs((steps[1:] * steps[:-1]).mean() / steps.var()) < 0.3
    with pytest.raises(NotImplementedError):
        tuning._ENTROPY.getstate()  # nothing to draw the same again from


class MoodySettings(PrivateSettings):
    growth: float = 1.8


def moody(settings: MoodySettings, facts: Facts, rng: np.random.Generator) -> Queries:
    """Refuses some settings after something was released, as methods do that see how few users there are."""
    trained = yield from ITEM_MEAN.train(settings, facts, rng)
    if settings.growth < 1.5:
        raise BudgetInvalid("not with me")
    return trained


class Moody(PrivateMethod):
    public_half = replace(ITEM_MEAN, name="moody", settings_type=MoodySettings, train=moody)
    private_half = BaselineContributions


def test_a_trial_that_ends_with_a_refusal_is_the_worst(
    market: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = iter([1.2, 1.8, 1.3, 1.1])
    monkeypatch.setattr(tuning, "draw_settings", lambda space: {"growth": next(draws)})
    trials(monkeypatch, 4)
    assert tune(Moody, {"growth": [1.2, 1.8]}, market, BUDGET).settings_ == {"growth": 1.8}
    draws = iter([1.2, 1.3])
    trials(monkeypatch, 2)
    with pytest.raises(BudgetInvalid, match=r"no trial gave a model.*is spent.*not with me"):
        tune(Moody, {"growth": [1.2, 1.8]}, market, BUDGET)


def test_a_budget_too_small_to_train_with_is_said(market: Ratings) -> None:
    with pytest.raises(BudgetInvalid, match=r"no trial gave a model.*too small to train"):
        tune(BudgetedALS, {"rank": [0]}, market.take_users(slice(0, 20)), Budget(0.05, 1e-6), mean_trials=2.0)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "one trial": ({"mean_trials": 1.0}, "mean_trials is above 1"),
    "no mean": ({"mean_trials": math.nan}, "mean_trials"),
    "not private": ({"method": ALS}, "not a private method"),
    "lists": ({"method": EASE, "space": {"head": [10]}}, "For lists there is nothing to tune"),
    "nothing to search": ({"space": {}}, "empty"),
    "an unknown setting": ({"space": {"colour": [1]}}, "colour.*Known settings.*rank"),
    "a choice outside": ({"space": {"rank": [2, "none"]}}, "rank"),
    "searched and fixed": ({"settings": {"rank": 3}}, "rank: either searched or fixed"),
    "discovery": ({"settings": {"discover_share": 0.1}}, "discover_share.*public catalogue"),
    "a range": ({"space": {"rank": {"low": 1, "high": 4}}}, "rank: give a list of choices"),
    "no choices": ({"space": {"rank": []}}, "rank: give a list of choices"),
    "one value": ({"space": {"rank": 4}}, "rank: give a list of choices.*settings="),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_before_anything_is_released(
    market: Ratings, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = watch(monkeypatch)
    changes, message = REFUSED[case]
    asked: dict[str, Any] = {"method": BudgetedALS, "space": {"rank": [0, 2]}} | changes
    with pytest.raises(SettingsInvalid, match=message):
        tune(ratings=market, budget=BUDGET, **asked)
    assert released == []


def test_ratings_without_a_catalogue_and_no_budget_are_refused(market: Ratings) -> None:
    unlisted = Ratings.from_arrays(
        market.indptr, market.items, market.values, catalogue=None, rating_range=(1, 5)
    )
    with pytest.raises(CatalogueMissing, match="tuning needs a public catalogue"):
        tune(BudgetedALS, {"rank": [0]}, unlisted, BUDGET)
    with pytest.raises(BudgetInvalid, match="Budget"):
        tune(BudgetedALS, {"rank": [0]}, market, 5.0)  # type: ignore[arg-type]
