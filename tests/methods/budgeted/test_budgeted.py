"""Budgeted ALS end to end: what it spends, what it depends on, what it learns."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import ALS, Budget, BudgetedALS, Catalogue, LedgerFile, Ratings
from discreet.data import splits, synthetic
from discreet.errors import (
    BudgetExceeded,
    BudgetInvalid,
    CatalogueInvalid,
    CatalogueMissing,
    RatingsInvalid,
)
from discreet.evaluation import evaluate_ratings
from discreet.methods.budgeted.public import train
from discreet.methods.budgeted.public.step import State, refine

BUDGET = Budget(2.0, 1e-6)


def test_releases_are_activity_offsets_and_one_for_each_round(market: Ratings) -> None:
    fitted = BudgetedALS(rank=2, rounds=3).fit(market, BUDGET, rng=0)
    names = [release.name for release in fitted.statement_.releases]
    assert names == ["activity: users and ratings per user", "offsets", "round 1", "round 2", "round 3"]
    assert fitted.rounds_ == 3


def test_clicks_are_refused_before_anything_is_spent_and_lists_are_named(
    clicks: Ratings, tmp_path: Path
) -> None:
    ledger = LedgerFile(tmp_path / "people.ledger")
    with pytest.raises(RatingsInvalid, match=r"predicts ratings.*discreet\.EASE \(--method ease\)"):
        BudgetedALS().fit(clicks, BUDGET, ledger=ledger)
    assert ledger.account().cost().mu == 0.0


def test_one_round_more_than_planned_is_refused(market: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    """An off-by-one in the loop must stop the run, not overspend."""
    original = train.round_shares

    def one_more(*arguments: Any) -> list[float]:
        shares = original(*arguments)
        return [*shares, shares[-1]]

    monkeypatch.setattr(train, "round_shares", one_more)
    with pytest.raises(BudgetExceeded):
        BudgetedALS(rank=2, rounds=2).fit(market, BUDGET, rng=0)


def test_private_model_is_close_to_the_open_one_and_far_from_the_baselines(market: Ratings) -> None:
    train, _, test = splits.by_rating(market, (0.9, 0.05, 0.05), rng=0)
    scores = {
        name: evaluate_ratings(model, train, test)
        for name, model in {
            "open": ALS(rank=16).fit(train, rng=0).model_,
            "strong": BudgetedALS().fit(train, Budget(1.0, 1e-6), rng=0).model_,
            "weak": BudgetedALS().fit(train, Budget(20.0, 1e-6), rng=0).model_,
            "offsets": BudgetedALS(rank=0).fit(train, Budget(20.0, 1e-6)).model_,
        }.items()
    }
    assert scores["strong"].rmse < 0.98 * scores["strong"].user_mean_rmse
    assert scores["weak"].rmse < 0.97 * scores["offsets"].rmse
    assert scores["weak"].rmse < scores["strong"].rmse
    assert scores["weak"].rmse < 1.07 * scores["open"].rmse


def test_factors_that_no_round_could_teach_are_not_released(market: Ratings) -> None:
    """All rounds drowned: the random start must not pass for taste."""
    fitted = BudgetedALS(rank=40, rounds=300, growth=1.0, activity_share=0.5, offset_share=0.9999).fit(
        market.take_users(slice(0, 300)), Budget(1.0, 1e-6), rng=0
    )
    assert fitted.rank_ == 0
    assert fitted.model_.item_side.factors.shape == (200, 0)


def test_noise_free_low_rank_world_is_recovered() -> None:
    train, test = synthetic.low_rank(3_000, n_items=300, rank=3, rng=0)
    model = BudgetedALS(rank=3).fit(train, Budget(5.0, 1e-5), rng=0).model_
    assert evaluate_ratings(model, train, test).rmse < 0.05


def test_no_direction_stands_for_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """People's vectors have no mean after a round, and what is known about offsets has moved with them.

    Ranks beyond the true one are noise, and everybody's vector has about the same number there where an offset is off.
    """
    states = []

    def refined(*args: Any, **kwargs: Any) -> State:
        states.append(refine(*args, **kwargs))
        return states[-1]

    monkeypatch.setattr(train, "refine", refined)
    world, test = synthetic.low_rank(6_000, n_items=300, rank=3, rng=0)
    model = BudgetedALS(rank=8, rounds=14).fit(world, Budget(5.0, 1e-5), rng=0).model_
    for state in states:
        np.testing.assert_allclose(state.frame.whiten[0, 1:], 0.0, atol=1e-12)
        apart = (state.offsets.mean - state.side.offsets) ** 2
        assert apart.mean() < 9.0 * np.mean(1.0 / state.offsets.precision + state.offsets.scatter)
    assert evaluate_ratings(model, world, test).rmse < 0.01


@pytest.mark.parametrize("epsilon", [1e-9, 1e-4])
def test_a_budget_too_small_to_train_is_refused(market: Ratings, epsilon: float) -> None:
    with pytest.raises(BudgetInvalid, match="too small to train"):
        BudgetedALS().fit(market, Budget(epsilon, 1e-9))


@pytest.mark.parametrize("fit", [lambda r: ALS().fit(r), lambda r: BudgetedALS().fit(r, BUDGET)])
def test_one_item_is_too_few(fit: Callable[[Ratings], object]) -> None:
    ratings = Ratings.from_arrays(
        np.arange(501),
        np.zeros(500, np.int32),
        np.full(500, 4.0),
        catalogue=Catalogue(["only"]),
        rating_range=(1, 5),
    )
    with pytest.raises(CatalogueInvalid, match="only one item"):
        fit(ratings)


def without_catalogue(ratings: Ratings) -> Ratings:
    import polars as pl

    users = np.repeat(ratings.user_ids, np.diff(ratings.indptr))
    frame = pl.DataFrame(
        {"u": users, "i": ratings.catalogue.ids[ratings.items].astype(str), "r": ratings.values}
    )
    secret = pl.DataFrame({"u": [users[0]] * 3, "i": [f"secret-{k}" for k in range(3)], "r": [5.0] * 3})
    both = pl.concat([frame, secret.cast(frame.schema)])
    return Ratings.from_frame(both, user="u", item="i", rating="r", rating_range=(1, 5))


def test_no_catalogue_and_no_share_for_one_is_refused(market: Ratings) -> None:
    with pytest.raises(CatalogueMissing, match="discover_share"):
        BudgetedALS().fit(without_catalogue(market), BUDGET)


def test_discovery_is_charged_and_never_shows_one_users_items(market: Ratings) -> None:
    ratings = without_catalogue(market)
    for _ in range(5):
        fitted = BudgetedALS(rank=0, discover_share=0.2).fit(ratings, BUDGET)
        ids = list(fitted.model_.catalogue.ids)
        assert 20 < len(ids) <= 200
        assert ids == sorted(ids)
        assert not [item for item in ids if item.startswith("secret")]
        statement = fitted.statement_
        assert statement.releases[0].delta == pytest.approx(0.2 * BUDGET.delta)
        assert statement.epsilon <= BUDGET.epsilon
        assert "the item catalogue" not in statement.public
