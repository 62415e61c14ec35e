"""A silo's own model: what a round minimises, what decides how far to go, and what its statement says."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import ALS, Budget, BudgetedALS, Catalogue, Model, Ratings
from discreet.data import splits
from discreet.data.synthetic import market
from discreet.errors import HistoryInvalid, ModelInvalid, RatingsInvalid, SettingsInvalid
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.methods.method import PrivateMethod
from discreet.methods.registry import METHODS
from discreet.privacy import Ledger, Noise
from discreet.privacy.statement import SiloTerms, Statement
from discreet.silos.own.choice import ALONE, FEDERATED, Candidate, choose
from discreet.silos.own.own_model import STAYS
from discreet.silos.own.refinement import OFFSET_PENALTY, Refinement
from discreet.types import Floats

BUDGET = Budget(3.0, 1e-6)


def promise() -> Statement:
    """What a federated run would state."""
    ledger = Ledger(BUDGET)
    ledger.redeem(ledger.charge("all rounds", mu=BUDGET.mu))
    return Statement.from_ledger(ledger, silos=SiloTerms(3, 2, "shares"))


def federated(ratings: Ratings, budget: Budget = BUDGET, method: PrivateMethod | None = None) -> Model:
    """What silos would release, with noise that is the same every time."""
    chosen = BudgetedALS() if method is None else method
    noise = Noise.fixed_key_not_private("a silo's own model")
    model = chosen.fit(ratings, budget, rng=0, noise=noise).model_
    return replace(model, statement=promise())


@cache
def world() -> tuple[Ratings, Ratings]:
    """Training and test ratings of all silos."""
    train, test = splits.by_rating(market(1_600, 80, 32_000, rng=0), (0.8, 0.2), rng=0)
    return train, test


@cache
def released() -> Model:
    return federated(world()[0])


def clicks(ratings: Ratings) -> Ratings:
    return Ratings.from_arrays(
        ratings.indptr,
        ratings.items,
        np.ones(ratings.n_ratings),
        catalogue=ratings.catalogue,
        rating_range=None,
        user_ids=ratings.user_ids,
    )


def minimised(fit: Refinement, ratings: Ratings, penalty: float, strength: float, gravity: float) -> Floats:
    """Rows of all items by dense least squares, with every prior and every zero as a line of its own."""
    side, prior = fit.item_side(penalty), fit.item_side(penalty)
    known = np.column_stack([prior.offsets, prior.factors])
    coefficients = side.fold_in(ratings.indptr, ratings.items, ratings.values)
    design = np.column_stack([np.ones(len(coefficients)), coefficients[:, 1:]])
    users = np.repeat(np.arange(ratings.n_users), np.diff(ratings.indptr))
    values = ratings.scale.evidence(ratings.values) if side.goal == "rank" else ratings.values
    rows = []
    for item in range(ratings.n_items):
        mine = ratings.items == item
        wanted = values[mine] - side.centre - coefficients[users[mine], 0]
        ridge = np.full(design.shape[1], penalty)
        ridge[0] = OFFSET_PENALTY
        weights = np.sqrt(strength * ridge * max(mine.sum(), 1) ** 0.5)
        lines = [design[users[mine]], np.sqrt(gravity) * design, np.diag(weights)]
        targets = [wanted, np.zeros(len(design)), weights * known[item]]
        rows.append(np.linalg.lstsq(np.vstack(lines), np.concatenate(targets), rcond=None)[0])
    return np.array(rows)


@pytest.mark.parametrize(("goal", "gravity"), [("rate", 0.0), ("rank", 0.3)])
def test_a_round_minimises_what_the_module_says(goal: str, gravity: float) -> None:
    ratings = market(60, 12, 150, rng=1)
    model = federated(market(2_000, 12, 6_000, rng=2), method=BudgetedALS(goal=goal, rank=3))  # type: ignore[arg-type]
    fit = Refinement(
        model.item_side, ratings, extra=0, strength=4.0, gravity=gravity, rng=np.random.default_rng(0)
    )
    wanted = minimised(fit, ratings, 0.5, 4.0, gravity)
    before = fit.item_side(0.5)
    fit.round(0.5)
    side = fit.item_side(0.5)
    found = np.column_stack([side.offsets, side.factors])
    assert np.abs(wanted - np.column_stack([before.offsets, before.factors])).max() > 0.05
    np.testing.assert_allclose(found, wanted, atol=2e-4)


def test_what_nobody_rated_stays_and_a_strong_prior_holds_everything() -> None:
    ratings = world()[0].take_users(slice(0, 200))
    unrated = ratings.keep(ratings.items >= 10)
    for strength, kept in ((1.0, slice(0, 10)), (1e9, slice(None))):
        fit = Refinement(
            released().item_side,
            unrated,
            extra=2,
            strength=strength,
            gravity=0.0,
            rng=np.random.default_rng(0),
        )
        before = fit.item_side(1.0)
        for _ in range(2):
            fit.round(1.0)
        side, rank = fit.item_side(1.0), released().item_side.rank
        np.testing.assert_allclose(side.offsets[kept], before.offsets[kept], atol=1e-4)
        np.testing.assert_allclose(side.factors[kept, :rank], before.factors[kept, :rank], atol=1e-4)
        assert not side.factors[:10, rank:].any()
        assert side.factors[10:, rank:].any()


def test_factors_may_be_longer_without_a_change_of_predictions() -> None:
    """Offsets and the direction of the factors are the released ones before the first round."""
    ratings, start = world()[0].take_users(slice(0, 200)), released().item_side
    fit = Refinement(start, ratings, extra=0, strength=1.0, gravity=0.0, rng=np.random.default_rng(0))
    side = fit.item_side(1.0)
    size = np.linalg.norm(side.factors) / np.linalg.norm(start.factors)
    np.testing.assert_allclose(side.offsets, start.offsets)
    np.testing.assert_allclose(side.factors, size * start.factors)


def light() -> tuple[Ratings, Ratings]:
    train, test = world()
    return train.take_users(slice(0, 40)), test.take_users(slice(0, 40))


def odd() -> tuple[Ratings, Ratings]:
    """A silo whose users like what others do not."""
    low, high = 1.0, 5.0
    train, test = (part.take_users(slice(0, 200)) for part in world())
    return replace(train, values=low + high - train.values), replace(test, values=low + high - test.values)


@cache
def own_of_the_odd() -> discreet.silos.OwnModel:
    return discreet.silos.refine(released(), odd()[0], rng=0)


def test_no_silo_is_worse_off_than_with_the_better_of_alone_and_federated() -> None:
    ways = []
    for silo in (light, odd):
        train, test = silo()
        own = own_of_the_odd() if silo is odd else discreet.silos.refine(released(), train, rng=0)
        alone = ALS().fit(train, rng=0).model_
        scores = {
            name: evaluate_ratings(model, train, test).rmse
            for name, model in (("federated", released()), ("alone", alone), ("own", own.model_))
        }
        assert scores["own"] <= 1.002 * min(scores["federated"], scores["alone"])
        assert own.held_out_[own.way_] <= min(own.held_out_["federated"], own.held_out_["alone"])
        assert own.measure_ == "rmse"
        # What was held out, a tenth, tells the same story as the test, as far as so few ratings can.
        chance = 1.5 / np.sqrt(0.1 * train.n_ratings)
        for name, held_out in own.held_out_.items():
            if name != "refined":
                assert held_out == pytest.approx(scores[name], rel=chance)
        ways.append(scores)
    # The goal is not met by one way alone.
    assert ways[0]["federated"] < ways[0]["alone"]
    assert ways[1]["alone"] < 0.9 * ways[1]["federated"]
    assert ways[1]["own"] < 0.9 * ways[1]["federated"]


def test_a_useless_federated_model_is_left_behind_and_a_perfect_one_is_kept() -> None:
    train, _ = world()
    useless = replace(released(), item_side=replace(released().item_side, offsets=np.full(80, 2.0)))
    few = train.take_users(slice(0, 100))
    assert discreet.silos.refine(useless, few, rng=0).way_ != "federated"
    perfect = replace(ALS(rank=8).fit(train, rng=0).model_, statement=promise())
    own = discreet.silos.refine(perfect, train.take_users(slice(0, 10)), rng=0)
    assert own.way_ == "federated"
    assert own.model_ is perfect
    assert own.model_.statement.private


def test_lists_are_refined_by_what_they_find() -> None:
    train, test = splits.by_rating(market(1_500, 120, 30_000, rng=3, lift=1.5), (0.8, 0.2), rng=0)
    train, test = clicks(train), clicks(test)
    model = federated(train, Budget(1.0, 1e-6))
    mine, hidden = train.take_users(slice(0, 120)), test.take_users(slice(0, 120))
    own = discreet.silos.refine(model, mine, rng=0)
    assert own.measure_ == "recall@20"
    assert own.model_.goal == "rank"
    assert own.held_out_[own.way_] >= max(own.held_out_["federated"], own.held_out_["alone"])
    alone = ALS(goal="rank").fit(mine, rng=0).model_
    found = [evaluate_ranking(one, mine, hidden, 20).recall for one in (model, alone, own.model_)]
    assert found[2] >= 0.98 * max(found[:2])


def test_the_best_of_many_must_be_better_by_more_than_chance() -> None:
    refined, other = Candidate("refined", 0, 1.0, 1), Candidate("refined", 0, 8.0, 1)

    def chosen(losses: list[float]) -> Candidate:
        found = {FEDERATED: np.array([1.0, 1.1, 0.9]), ALONE: np.array([1.2, 1.2, 1.2])}
        picked, best = choose(found | {other: np.array([1.3, 1.3, 1.3]), refined: np.array(losses)})
        assert best == refined
        return picked

    assert chosen([0.98, 1.08, 0.88]) == refined
    assert chosen([0.7, 1.2, 1.05]) == FEDERATED
    assert chosen([1.1, 1.2, 1.0]) == FEDERATED
    one = {FEDERATED: np.array([1.2]), ALONE: np.array([1.1]), refined: np.array([1.05])}
    assert choose(one) == (refined, refined)
    assert choose(one | {refined: np.array([1.15])}) == (ALONE, refined)


@pytest.mark.parametrize(
    "name",
    [name for name, kind in METHODS.items() if issubclass(kind, PrivateMethod) and name != "user-mean"],
)
def test_what_any_method_released_can_be_refined(name: str) -> None:
    train, _ = world()
    data = clicks(train) if name == "popularity" else train
    model = federated(data, Budget(20.0, 1e-6), METHODS[name]())  # type: ignore[arg-type]
    few = data.take_users(slice(0, 100))
    fit = Refinement(model.item_side, few, extra=2, strength=8.0, gravity=0.1, rng=np.random.default_rng(0))
    for _ in range(2):
        fit.round(1.0)
    side = fit.item_side(1.0)
    side.check()
    assert side.goal == model.goal
    assert side.rank == model.item_side.rank + 2


def test_the_statement_says_that_it_must_not_leave_and_nothing_makes_it_private_again(tmp_path: Path) -> None:
    train, _ = odd()
    own = own_of_the_odd().model_
    said = own.statement
    assert not said.private
    assert said.reason == STAYS
    assert "users are not protected from one another" in STAYS
    assert "must not leave the silo" in STAYS
    assert (said.epsilon, said.delta, said.mu) == (None, None, None)
    assert released().digest[:16] in said.notes[0]
    assert "epsilon 3 at delta 1e-6" in said.notes[0]
    assert "NOT PRIVATE" in str(said)
    loaded = Model.load(own.save(tmp_path / "own"))
    assert loaded.statement == said
    np.testing.assert_array_equal(loaded.item_side.factors, own.item_side.factors)
    with pytest.raises(ModelInvalid, match="cannot be trusted"):
        Statement.from_json(said.to_json().replace('"private": false', '"private": true'))
    # Neither can it be the start of a private run, nor be refined as if it had been released.
    with pytest.raises(SettingsInvalid, match="the model to start from is one of own"):
        BudgetedALS().fit(train, BUDGET, start=own)
    with pytest.raises(ModelInvalid, match="this model is not private"):
        discreet.silos.refine(own, train)


def test_doubt_and_guesses_of_the_released_model_are_not_passed_on() -> None:
    assert released().item_side.doubt is not None
    own = own_of_the_odd().model_
    assert own.item_side.doubt is None
    assert own.item_side.feature_map is None


def test_the_same_seed_gives_the_same_model() -> None:
    few = light()[0].take_users(slice(0, 12))
    first, second = (discreet.silos.refine(released(), few, rng=7) for _ in range(2))
    assert first.held_out_ == second.held_out_
    np.testing.assert_array_equal(first.model_.item_side.factors, second.model_.item_side.factors)


def test_what_is_chosen_as_trained_alone_is_what_the_same_seed_gives_alone() -> None:
    """Two starts of ALS differ by more than a silo is to lose by asking for a model of its own."""
    train, _ = splits.by_rating(market(1_500, 120, 30_000, rng=3), (0.8, 0.2), rng=0)
    useless = federated(clicks(market(1_500, 120, 30_000, rng=9)), Budget(0.3, 1e-6))
    mine = clicks(train).take_users(slice(0, 700))
    own = discreet.silos.refine(useless, mine, rng=3)
    assert own.way_ == "alone"
    alone = ALS(goal="rank").fit(mine, rng=3).model_.item_side
    assert own.model_.item_side.factors.tobytes() == alone.factors.tobytes()
    assert own.model_.item_side.offsets.tobytes() == alone.offsets.tobytes()


def test_wrong_use_says_what_to_do() -> None:
    train, _ = light()
    with pytest.raises(RatingsInvalid, match="too few to judge by"):
        discreet.silos.refine(released(), train.take_users(slice(0, 2)))
    other = replace(train, catalogue=Catalogue([f"other-{j}" for j in range(80)]))
    with pytest.raises(HistoryInvalid, match="not numbered by the model's catalogue"):
        discreet.silos.refine(released(), other)
    with pytest.raises(
        SettingsInvalid, match=r"silos do not start from an earlier model.*discreet\.silos\.refine"
    ):
        discreet.silos.fit([train], BUDGET, start=released())
