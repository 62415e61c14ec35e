"""DPALS end to end: what it spends, whom it depends on, and what each of its parts does."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import Budget, Ratings
from discreet.data import splits, synthetic
from discreet.errors import BudgetInvalid
from discreet.evaluation import evaluate_ratings
from discreet.methods.public.half import Facts
from discreet.methods.published.private.dpals import DPALS
from discreet.methods.published.public.dpals import DPALSSettings, item_ridge, make_plan
from discreet.model.item_side import ItemSide

BUDGET = Budget(5.0, 1e-6)
SMALL: dict[str, Any] = {"rank": 4, "max_ratings": 20, "penalty": 10.0, "typical_ratings": 40.0}
VARIANTS: dict[str, dict[str, Any]] = {
    "tail": {},
    "uniform, plain": {"sampling": "uniform", "item_exponent": 0.0, "centre": "middle"},
    "weights": {"sampling": "weights"},
    "gravity": {"gravity": 0.5},
    "spectral start": {"start": "spectral"},
    "frequent items": {"frequent_share": 0.3},
    "orthonormal": {"orthonormal": True, "row_clip": 2.0},
    "split users": {"split_users": True, "rounds": 3},
    "no projection": {"project": False},
    "given sigmas": {"sigma_matrix": 60.0, "sigma_vector": 40.0, "sigma_counts": 100.0},
    "one given sigma": {"sigma_vector": 40.0},
}


@pytest.fixture(scope="module")
def skewed() -> tuple[Ratings, Ratings]:
    ratings = synthetic.market(20_000, 600, 600_000, rng=0)
    train, test = splits.by_rating(ratings, (0.9, 0.1), rng=0)
    return train, test


def rmse(train: Ratings, test: Ratings, budget: Budget, **settings: Any) -> float:
    model = DPALS(**settings).fit(train, budget, rng=0).model_
    return evaluate_ratings(model, train, test).rmse


@pytest.mark.parametrize("variant", list(VARIANTS))
@pytest.mark.parametrize("kind", ["explicit", "implicit"])
def test_what_is_accounted_is_what_is_charged(
    market: Ratings, clicks: Ratings, kind: str, variant: str
) -> None:
    ratings = (market if kind == "explicit" else clicks).take_users(slice(0, 500))
    fitted = DPALS(**(SMALL | VARIANTS[variant])).fit(ratings, BUDGET, rng=0)
    statement = fitted.statement_
    spent = sum(release.mu**2 for release in statement.releases)
    assert fitted.accounting_.owed == pytest.approx(statement.epsilon, rel=1e-9)
    if "given sigmas" in variant:
        assert spent < BUDGET.mu**2
    else:
        assert spent == pytest.approx(BUDGET.mu**2, rel=1e-9)
    assert np.isfinite(fitted.model_.item_side.factors).all()


def test_the_releases_are_those_of_the_papers(market: Ratings) -> None:
    names = [release.name for release in DPALS(**SMALL).fit(market, BUDGET, rng=0).statement_.releases]
    assert names == ["item counts", "item counts of the sample", "mean", "round 1", "round 2"]
    plain = DPALS(**(SMALL | VARIANTS["uniform, plain"])).fit(market, BUDGET, rng=0)
    assert [release.name for release in plain.statement_.releases] == ["round 1", "round 2"]


PLAIN: dict[str, Any] = {
    "rank": 5,
    "max_ratings": 200,
    "penalty": 0.01,
    "sampling": "uniform",
    "item_exponent": 0.0,
    "user_exponent": 0.0,
    "centre": "middle",
}


def test_without_noise_it_is_alternating_least_squares() -> None:
    """On noise-free rank-5 data a few rounds find the factors."""
    train, test = synthetic.low_rank(3_000, 200, rng=0)
    assert rmse(train, test, Budget(1e6, 1e-6), **PLAIN, rounds=3) < 0.005


PAPER: dict[str, Any] = {"rank": 16, "max_ratings": 30, "penalty": 20.0, "typical_ratings": 30.0}


def test_projection_saves_the_private_model(skewed: tuple[Ratings, Ratings]) -> None:
    budget = Budget(5.0, 1e-6)
    projected, plain = (rmse(*skewed, budget, **PAPER, project=project) for project in (True, False))
    assert projected < plain - 0.1


def test_noise_that_leaves_nothing_for_the_rounds_is_refused(market: Ratings) -> None:
    """However small the budget is, and however exactly it was spent."""
    for epsilon in (1e-6, 1.0):
        budget = Budget(epsilon, 1e-9)
        facts = Facts(market.n_items, market.scale, budget, budget.mu)
        assert make_plan(DPALSSettings(), facts).mu == pytest.approx(budget.mu, rel=1e-9)
        # Two counts and a mean of at most 50 ratings: all of the budget, and a part in a thousand more.
        for part in (1.0, 1.001):
            sigma = float(np.sqrt(4 * 50 / part)) / budget.mu
            with pytest.raises(BudgetInvalid, match="this noise costs epsilon"):
                make_plan(DPALSSettings(sigma_counts=sigma), facts)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_what_is_owed_includes_the_search_for_a_catalogue(share: float) -> None:
    market = synthetic.market(4_000, 60, 60_000, rng=0)
    ids = np.asarray(market.catalogue.ids)  # type: ignore[union-attr]
    frame = pl.DataFrame(
        {
            "user": np.repeat(market.user_ids, np.diff(market.indptr)),
            "item": ids[market.items].tolist(),
            "rating": market.values,
        }
    )
    ratings = Ratings.from_frame(frame, user="user", item="item", rating="rating", rating_range=(1.0, 5.0))
    fitted = DPALS(**SMALL, discover_share=share).fit(ratings, BUDGET, rng=0)
    assert fitted.statement_.epsilon is not None
    assert fitted.accounting_.owed >= fitted.statement_.epsilon * (1.0 - 1e-9)
    assert fitted.accounting_.owed_renyi > fitted.accounting_.owed


def test_splitting_users_splits_their_ratings_evenly(
    market: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every rating belongs to exactly one round, about as many to each."""
    seen: list[int] = []
    fold_in = ItemSide.fold_in

    def watched(self: ItemSide, indptr: Any, items: Any, values: Any, **kind: Any) -> Any:
        seen.append(len(items))
        return fold_in(self, indptr, items, values, **kind)

    monkeypatch.setattr(ItemSide, "fold_in", watched)
    DPALS(**(SMALL | {"split_users": True, "rounds": 3})).fit(market, BUDGET, rng=0)
    assert len(seen) == 2 * 3
    seen = seen[::2]  # after each round a few users are computed again
    assert sum(seen) == market.n_ratings
    assert min(seen) > 0.3 * market.n_ratings


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_penalties_of_items_are_the_setting_on_average_over_ratings(exponent: float) -> None:
    """Not over items: rare items are many, and would make the penalty of what is rated several times stronger."""
    counts = np.array([1.0, 1.0, 4.0, 100.0])
    ridge = item_ridge(DPALSSettings(penalty=80.0, item_exponent=exponent), counts)
    assert (ridge * counts).sum() / counts.sum() == pytest.approx(80.0)
    np.testing.assert_allclose(ridge / ridge[0], counts**exponent)
