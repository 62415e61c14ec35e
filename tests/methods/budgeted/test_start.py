"""Starting from an earlier model: what it costs, how far it is believed, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet import DPALS, Budget, BudgetedALS, Catalogue, Model, Ratings
from discreet.data import synthetic
from discreet.errors import SettingsInvalid
from discreet.methods.budgeted.public.earlier import prior_offsets, prior_popularity
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.model.start import Start
from discreet.privacy.accounting import compose, epsilon_from

BUDGET = Budget(8.0, 1e-5)


@pytest.fixture(scope="module")
def months() -> list[Ratings]:
    """Of one market: other people each month, and ten items more in the second."""
    whole = synthetic.market(4_000, 160, 120_000, rng=0, lift=1.0)
    assert whole.catalogue is not None
    fewer = whole.with_catalogue(Catalogue(whole.catalogue.ids[:150]))
    return [fewer.take_users(slice(0, 2_000)), whole.take_users(slice(2_000, None))]


@pytest.fixture(scope="module")
def first(months: list[Ratings]) -> Model:
    return BudgetedALS().fit(months[0], BUDGET, rng=0).model_


def names(model: Model) -> list[str]:
    return [release.name for release in model.statement.releases]


def test_the_statement_names_every_earlier_model_and_says_what_all_runs_cost(
    months: list[Ratings], first: Model
) -> None:
    second = BudgetedALS().fit(months[1], Budget(4.0, 1e-6), rng=0, start=first).model_
    third = BudgetedALS().fit(months[1], BUDGET, rng=0, start=second).model_
    said = third.statement
    assert [run.model for run in said.earlier_runs] == [first.digest, second.digest]
    assert said.own.epsilon == BUDGET.epsilon
    mus = [model.statement.own.mu for model in (first, second, third)]
    assert said.epsilon == epsilon_from(compose(mus), 1e-5)
    assert said.delta == 1e-5
    text = " ".join(str(said).split())
    assert (
        f"in model {first.digest[:16]} (run {said.earlier_runs[0].run[:8]}) alone: epsilon 8 at delta 1e-5"
        in text
    )
    assert "for who was in all 3 runs" in text
    assert Model(third.item_side, third.catalogue, said, third.method).statement == said


def test_a_start_that_is_not_private_makes_the_result_not_private(
    months: list[Ratings], first: Model
) -> None:
    exposed = replace(first, statement=first.statement.not_private("its ratings were printed", public=()))
    after = BudgetedALS().fit(months[1], BUDGET, rng=0, start=exposed).model_
    assert not after.statement.private
    assert after.statement.epsilon is None
    assert "its ratings were printed" in " ".join(str(after.statement).split())
    assert exposed.digest[:16] in str(after.statement)
    declared = BudgetedALS().fit(months[1], BUDGET, rng=0, start=exposed, start_is_public=True).model_
    assert declared.statement.private
    assert declared.statement.earlier_runs == ()
    assert any(exposed.digest[:16] in thing for thing in declared.statement.public)


def test_a_start_that_holds_needs_few_rounds_and_a_useless_one_is_left(
    months: list[Ratings], first: Model
) -> None:
    warm = BudgetedALS().fit(months[1], BUDGET, rng=0, start=first)
    asked = names(warm.model_)[2:]
    assert asked == ["trial of the earlier model", "round 1", "round 2"]
    assert warm.rank_ == first.item_side.rank
    side = first.item_side
    assert side.noise_ratio is not None
    turn = np.random.default_rng(0).permutation(side.n_items)
    mixed = replace(side, factors=side.factors[turn], noise_ratio=side.noise_ratio[turn])
    cold = BudgetedALS().fit(months[1], BUDGET, rng=0)
    after = BudgetedALS().fit(months[1], BUDGET, rng=0, start=replace(first, item_side=mixed))
    assert "trial of the earlier model" in names(after.model_)
    # The noise of the first release may make one round of difference.
    assert abs(after.rounds_ - cold.rounds_) <= 1
    assert after.rounds_ > 2 == warm.rounds_


def test_items_are_matched_by_id_and_new_ones_start_from_nothing(first: Model) -> None:
    ids = [*reversed(first.catalogue.ids.tolist()), "new"]
    start = Start.of(first, Catalogue(ids))
    assert (start.side.offsets[:-1] == first.item_side.offsets[::-1]).all()
    assert (start.side.factors[:-1] == first.item_side.factors[::-1]).all()
    assert start.known.tolist() == [True] * (len(ids) - 1) + [False]
    assert not start.side.factors[-1].any()
    assert start.noise_ratio is not None
    assert start.noise_ratio[-1] == 1.0
    assert (start.noise_ratio[:-1] < 1.0).all()
    assert (start.after_drift(0.1) <= start.after_drift(1.0)).all()


def test_what_cannot_be_a_start_is_refused_in_words(months: list[Ratings], first: Model) -> None:
    with pytest.raises(SettingsInvalid, match="and 3 was asked for"):
        BudgetedALS(rank=3).fit(months[1], BUDGET, start=first)
    with pytest.raises(SettingsInvalid, match="is one of other"):
        BudgetedALS().fit(months[1], BUDGET, start=replace(first, method="other"))
    with pytest.raises(SettingsInvalid, match="does not start from an earlier model"):
        DPALS().fit(months[1], BUDGET, start=first)
    wider = synthetic.market(300, 60, 5_000, rng=0, rating_range=(0.0, 10.0))
    with pytest.raises(SettingsInvalid, match="same rating range"):
        BudgetedALS().fit(wider, BUDGET, start=first)


@pytest.fixture
def start(first: Model) -> Start:
    """About 400 items whose offsets and popularity are known but for a little."""
    rng, count = np.random.default_rng(1), 400
    side = replace(
        first.item_side,
        offsets=rng.standard_normal(count),
        factors=np.zeros((count, 0)),
        popularity=rng.lognormal(0.0, 1.0, count),
        noise_ratio=None,
    )
    return Start(side, np.ones(count, dtype=np.bool_), np.full(count, 0.01))


def test_offsets_follow_an_earlier_model_that_predicts_them_and_no_other(start: Start) -> None:
    rng = np.random.default_rng(2)
    truth = start.side.offsets + 0.1 * rng.standard_normal(400)
    variance, popularity = np.full(400, 1.0), np.ones(400) * np.e
    noisy = truth + rng.standard_normal(400)
    cold = 0.5 * noisy
    found = prior_offsets(noisy, variance, popularity, start, cold)
    assert np.square(found - truth).mean() < 0.1 * np.square(cold - truth).mean()
    unrelated = rng.permutation(truth)
    noisy = unrelated + rng.standard_normal(400)
    found = prior_offsets(noisy, variance, popularity, start, 0.5 * noisy)
    assert np.square(found - unrelated).mean() < 1.05 * np.square(0.5 * noisy - unrelated).mean()


def test_popularity_follows_an_earlier_model_that_predicts_it_and_no_other(start: Start) -> None:
    rng = np.random.default_rng(3)
    assert start.side.popularity is not None
    truth = 50.0 * start.side.popularity * rng.lognormal(0.0, 0.05, 400)
    for real, least, most in ((truth, 0.0, 0.3), (rng.permutation(truth), 0.5, 1.05)):
        released = ItemWeights(real + 30.0 * rng.standard_normal(400), np.full(400, 900.0))
        found = prior_popularity(released, start)
        error = np.square(found.estimate - real).mean() / np.square(released.estimate - real).mean()
        assert least < error < most
