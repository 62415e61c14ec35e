"""Lists lean on taste as far as the people in the data say: they hold back items and look for them again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet import Budget, BudgetedALS, Ratings
from discreet.catalogue import CLICKS
from discreet.data import splits, synthetic
from discreet.evaluation.protocols import evaluate_ranking
from discreet.methods.budgeted.private.held_back import _held_back, found_again
from discreet.methods.budgeted.public import train
from discreet.methods.budgeted.public.leaning import CLICK_PENALTY, RIDGES, candidates, led, vote_on
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.questions import PenaltyQuestion
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide
from discreet.privacy import Noise
from discreet.privacy.gaussian.preferences import NoisyPreferences, Preferences

RANK, ITEMS, USERS = 3, 200, 600


def clicks_of(made: Ratings) -> Ratings:
    return Ratings.from_arrays(
        made.indptr, made.items, np.ones(made.n_ratings), catalogue=made.catalogue, rating_range=None
    )


@pytest.fixture(scope="module")
def clicks() -> Ratings:
    return clicks_of(synthetic.market(USERS, ITEMS, 12 * USERS, rng=1, lift=2.0))


def question_of(ratings: Ratings, share: float = 1.0, seed: int = 5) -> PenaltyQuestion:
    rng = np.random.default_rng(0)
    side = ItemSide(
        CLICKS,
        0.0,
        0.1 * np.bincount(ratings.items, minlength=ITEMS) / USERS,
        rng.standard_normal((ITEMS, RANK)),
        Clicks(0.3, 1.0),
    )
    popular = np.random.default_rng(1).random(ITEMS)
    return PenaltyQuestion("penalty", 1.0, 4, side, np.array([0.1, 100.0]), popular, seed, share)


def activity(users: float) -> Activity:
    return Activity(users, 20.0, 0.0, 1.0, 1.0, np.array([20.0]), np.ones(1))


def test_people_hold_back_a_fifth_of_their_items_and_not_all_the_same(clicks: Ratings) -> None:
    held = _held_back(clicks, 5)
    assert held.mean() == pytest.approx(0.2, abs=0.03)
    taken = np.bincount(clicks.items, minlength=ITEMS)
    often = taken > 60
    by_item = np.bincount(clicks.items[held], minlength=ITEMS)[often] / taken[often]
    assert 0.08 < by_item.min() < by_item.max() < 0.4
    assert (held != _held_back(clicks, 6)).mean() > 0.2


def test_what_a_user_holds_back_and_finds_is_nobody_elses_business(clicks: Ratings) -> None:
    question = question_of(clicks, share=0.7)
    whole = found_again(clicks, question)
    assert 0.4 < (whole.max(axis=1) > 0.0).mean() < 0.75
    for user in range(0, USERS, 37):
        alone = found_again(clicks.take_users([user]), question)
        assert alone.tobytes() == whole[[user]].tobytes()


def test_found_is_what_a_list_from_the_other_items_brings_back(clicks: Ratings) -> None:
    question = question_of(clicks)
    held, found = _held_back(clicks, question.seed), found_again(clicks, question)
    for user in range(40):
        own = slice(*clicks.indptr[user : user + 2])
        wanted, kept = clicks.items[own][held[own]], clicks.items[own][~held[own]]
        expected = np.zeros(3)
        if len(wanted) and len(kept):
            for column, penalty in enumerate([*question.penalties, None]):
                scores = question.popular.copy()
                if penalty is not None:
                    side = replace(question.side, rule=replace(question.side.clicks, factor_penalty=penalty))
                    vector = side.fold_in(np.array([0, len(kept)]), kept, np.ones(len(kept)))[0, 1:]
                    scores = side.offsets + side.factors @ vector
                scores[kept] = -np.inf
                expected[column] = np.isin(wanted, np.argsort(-scores)[:20]).mean()
        np.testing.assert_allclose(found[user], expected, atol=1e-12)


def test_everybody_who_prefers_anything_has_one_whole_vote(clicks: Ratings) -> None:
    (block,) = Preferences(3).blocks(found_again(clicks, question_of(clicks)))
    energies = block.energies()
    assert np.all((energies == 0.0) | (np.abs(energies - 1.0) < 1e-5))
    assert 0.3 < (energies > 0.0).mean() < 1.0


def test_small_budgets_do_not_ask_and_large_ones_pay_little() -> None:
    assert vote_on(activity(200.0), 1_000, 0.1) is None
    small = vote_on(activity(6_000.0), 4_000, 0.25)
    assert small is not None
    assert small.cost == pytest.approx(0.03)
    assert small.asked == 1.0
    large = vote_on(activity(1e6), 30_000, 1.0)
    assert large is not None
    assert large.cost < 0.03
    assert large.asked * 1e6 == pytest.approx(3_000.0)


def test_another_candidate_must_win_by_more_than_noise(clicks: Ratings) -> None:
    side = question_of(clicks).side
    popular = replace(side, factors=np.zeros((ITEMS, 0)))
    totals = np.array([10.0, 50.0, 120.0, 60.0, 0.0, -240.0])
    usual = side.clicks.factor_penalty
    assert led(side, popular, NoisyPreferences(totals, 10.0)).clicks.factor_penalty == usual * RIDGES[2]
    assert led(side, popular, NoisyPreferences(totals, 30.0)) is side
    totals[-1] = 300.0
    assert led(side, popular, NoisyPreferences(totals, 10.0)) is popular
    assert led(side, popular, NoisyPreferences(totals, 100.0)) is side


@pytest.mark.parametrize("lift", [0.0, 3.0])
def test_lists_are_never_below_popularity_and_above_it_where_there_is_taste(lift: float) -> None:
    made = clicks_of(synthetic.market(6_000, 400, 90_000, rng=3, lift=lift))
    history, test = splits.by_rating(made, (0.9, 0.1), rng=0)
    noise = Noise.fixed_key_not_private("leaning")
    model = BudgetedALS().fit(history, Budget(20.0, 1e-6), rng=0, noise=noise).model_
    scores = evaluate_ranking(model, history, test, 20)
    if lift:
        assert model.item_side.rank > 0
        assert scores.recall > 1.1 * scores.popularity_recall
    else:
        assert scores.recall > 0.99 * scores.popularity_recall


def test_a_ridge_that_is_set_stays_and_nobody_is_asked(clicks: Ratings) -> None:
    fitted = BudgetedALS(penalty=0.7, rank=2, rounds=3).fit(clicks, Budget(20.0, 1e-5), rng=0)
    assert fitted.model_.item_side.clicks.factor_penalty == 0.7
    assert [release.name for release in fitted.statement_.releases][-1] == "round 3"


def test_lists_take_eight_rounds_at_most_and_ratings_what_was_asked_for() -> None:
    rated = synthetic.market(500, 60, 6_000, rng=2)
    budget = Budget(200.0, 1e-5)
    assert BudgetedALS(rank=2, rounds=12, goal="rank").fit(rated, budget, rng=0).rounds_ == 8
    assert BudgetedALS(rank=2, rounds=12).fit(rated, budget, rng=0).rounds_ == 12


def test_the_chosen_ridge_is_that_of_the_votes(clicks: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    votes = np.eye(1 + len(RIDGES))
    for number in (3, len(RIDGES)):
        found = NoisyPreferences(votes[number], 1e-3)
        monkeypatch.setattr(train, "led", lambda *sides, _found=found: led(sides[0], sides[1], _found))
        fitted = BudgetedALS(rounds=3).fit(clicks, Budget(100.0, 1e-5), rng=0)
        side = fitted.model_.item_side
        usual = CLICK_PENALTY * side.clicks.gravity
        if number == len(RIDGES):
            assert (fitted.rank_, fitted.rounds_) == (0, 0)
            assert side.same_for_all
            taken = np.bincount(clicks.items, minlength=ITEMS)
            assert np.corrcoef(taken, side.offsets)[0, 1] > 0.9
        else:
            assert fitted.rank_ > 0
            assert side.clicks.factor_penalty == pytest.approx(candidates(usual)[number])


def test_a_rank_that_is_set_is_kept_where_popularity_would_win(
    clicks: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vote is about ridges alone then."""

    def popularity(side: ItemSide, popular: ItemSide | None, found: NoisyPreferences) -> ItemSide:
        assert len(found.totals) == len(RIDGES) + (popular is not None)
        return side if popular is None else popular

    monkeypatch.setattr(train, "led", popularity)
    budget = Budget(100.0, 1e-5)
    assert BudgetedALS(rounds=2).fit(clicks, budget, rng=0).rank_ == 0
    assert BudgetedALS(rounds=2, rank=5).fit(clicks, budget, rng=0).rank_ == 5
