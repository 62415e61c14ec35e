"""Private Frank-Wolfe end to end: what it spends, what it depends on, what it learns, what it needs."""

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import Budget, Catalogue, Model, Ratings
from discreet.data import splits, synthetic
from discreet.errors import SettingsInvalid
from discreet.evaluation.protocols import evaluate_ranking, evaluate_ratings
from discreet.methods.frank_wolfe.estimator import FrankWolfe
from discreet.model.fold_in import FrankWolfeReplay
from tests.methods import checks

Make = Callable[[], FrankWolfe]
WAYS: dict[str, dict[str, Any]] = {
    "exact": {"steps": 3},
    "oja": {"steps": 2, "eigenvector": "oja", "oja_steps": 3},
    "exact, mean": {"steps": 2, "centre": "mean", "most": 20},
}


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(way: str) -> Make:
    return lambda: FrankWolfe(**WAYS[way])


@pytest.fixture(params=["explicit", "implicit"])
def ratings(request: pytest.FixtureRequest, market: Ratings, clicks: Ratings) -> Ratings:
    return market if request.param == "explicit" else clicks


def test_the_budget_is_spent_exactly_and_every_release_is_charged_once(
    make: Make, way: str, ratings: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {
        "exact": ["step 1", "step 2", "step 3"],
        "oja": [f"step {step}, product {number}" for step in (1, 2) for number in (1, 2, 3)],
        "exact, mean": ["mean rating"] * ratings.explicit + ["step 1", "step 2"],
    }
    checks.check_budget(make, ratings, names[way], monkeypatch)


def test_a_spent_gate_gives_only_what_is_left(make: Make, market: Ratings) -> None:
    checks.check_what_is_left(make, market)


def test_same_model_for_any_threads_and_any_order_of_users(make: Make, ratings: Ratings) -> None:
    checks.check_same_model(make, ratings)


@pytest.mark.parametrize("explicit", [True, False])
def test_no_user_moves_a_release_by_more_than_the_bound(way: str, explicit: bool) -> None:
    """A product reaches the bound only for a row along its direction, which need not be anybody's."""
    settings = WAYS[way] | {"row_bound": 1.0, "most": 10}
    checks.check_neighbours(
        lambda: FrankWolfe(**settings),
        checks.hostile_ratings(explicit),
        reached=0.3 if way == "oja" else 0.99,
    )


def test_nothing_but_releases_reaches_the_model(make: Make, ratings: Ratings) -> None:
    checks.check_only_releases_reach_the_model(make, ratings)


def test_tiny_budgets_and_empty_worlds_do_no_harm(make: Make, ratings: Ratings) -> None:
    checks.check_tiny_budgets(make, ratings.take_users(slice(0, 300)))
    checks.check_empty_worlds(make, ratings)


@pytest.mark.parametrize(
    ("settings", "most"), [({"steps": 20}, 0.55), ({"steps": 12, "eigenvector": "oja", "oja_steps": 6}, 0.75)]
)
def test_a_low_rank_world_is_learnt(settings: dict[str, Any], most: float) -> None:
    """Predicting 0 has an error of 1; the user mean is no better."""
    train, test = synthetic.low_rank(3_000, n_items=200, rank=2, rng=0)
    model = FrankWolfe(**settings, row_bound=9.0).fit(train, checks.LARGE, rng=0).model_
    assert evaluate_ratings(model, train, test).rmse < most


def test_ratings_of_a_market_beat_the_global_mean(market: Ratings) -> None:
    train, _, test = splits.by_rating(market, (0.9, 0.05, 0.05), rng=0)
    scores = evaluate_ratings(FrankWolfe().fit(train, checks.LARGE, rng=0).model_, train, test)
    assert scores.rmse < 0.95 * scores.global_mean_rmse


def test_clicks_are_ranked_far_better_than_by_chance(clicks: Ratings) -> None:
    train, query, target = splits.held_out_users(clicks, 0.2, rng=0)
    scores = evaluate_ranking(FrankWolfe().fit(train, checks.LARGE, rng=0).model_, query, target)
    assert scores.recall > 0.8 * scores.popularity_recall


def test_the_model_says_what_its_steps_were(market: Ratings) -> None:
    """Eigenvalues are those of the second moment of the rows in the ratings' own units."""
    given = {"steps": 4, "most": None, "row_bound": 25.0, "nuclear_bound": 50.0}
    side = FrankWolfe(**given).fit(market, Budget(1e6, 1e-6), rng=0).model_.item_side
    dense = np.zeros((market.n_users, market.n_items))
    dense[np.repeat(np.arange(market.n_users), np.diff(market.indptr)), market.items] = market.values - 3.0
    assert isinstance(side.rule, FrankWolfeReplay)
    assert side.rule.eigenvalues[0] == pytest.approx(float(np.linalg.norm(dense, 2)) ** 2, rel=0.02)
    assert (side.rule.nuclear_bound, side.rule.row_bound, side.centre) == (50.0, 25.0, 3.0)
    np.testing.assert_allclose(np.linalg.norm(side.factors, axis=0), 1.0, rtol=1e-9)
    assert not side.offsets.any()


def test_automatic_bounds_do_not_look_at_the_ratings(market: Ratings) -> None:
    sides = [
        FrankWolfe(steps=2).fit(data, checks.BUDGET, rng=0).model_.item_side
        for data in (market, market.take_users([0]))
    ]
    assert sides[0].rule.row_bound == sides[1].rule.row_bound == pytest.approx(0.5 * 2.0 * 80**0.5)


def test_steps_in_nothing_but_noise_are_passed_over(market: Ratings) -> None:
    for eigenvector in ("exact", "oja"):
        passed = [
            FrankWolfe(steps=3, eigenvector=eigenvector)
            .fit(market, Budget(1e-4, 1e-9), rng=0)
            .model_.item_side
            for _ in range(3)
        ]
        assert sum((side.rule.eigenvalues > 0).sum() for side in passed) <= 3
        assert all(not side.factors[:, side.rule.eigenvalues <= 0].any() for side in passed)


@pytest.mark.parametrize("eigenvector", ["exact", "oja"])
def test_as_published_no_step_above_zero_is_passed_over(eigenvector: str, market: Ratings) -> None:
    """In noise alone the first eigenvalue is above zero and a product as often as not."""
    taken = 0
    for seed in range(5):
        method = FrankWolfe(steps=4, eigenvector=eigenvector, skip_noise=False)
        side = method.fit(market, Budget(1e-4, 1e-9), rng=seed).model_.item_side
        taken += int((side.rule.eigenvalues > 0).sum())
    assert taken == 20 if eigenvector == "exact" else 3 <= taken <= 17


def test_the_mean_is_charged_and_used(market: Ratings) -> None:
    side = (
        FrankWolfe(steps=1, centre="mean", centre_share=0.5).fit(market, checks.LARGE, rng=0).model_.item_side
    )
    assert side.centre == pytest.approx(float(market.values.mean()), abs=0.02)
    implicit = replace(market, rating_range=None, values=np.ones(market.n_ratings))
    fitted = FrankWolfe(steps=1, centre="mean").fit(implicit, checks.LARGE, rng=0)
    assert fitted.model_.item_side.centre == 0.0
    assert len(fitted.statement_.releases) == 1


def test_only_as_many_ratings_as_were_promised_take_part(market: Ratings) -> None:
    """With one rating of each user nobody links two items: the second moment has nothing beside its diagonal."""
    from discreet.privacy import Gate

    seen: list[np.ndarray] = []
    original = Gate.release

    def watched(self: Gate, name: str, blocks: list[Any], **cost: float) -> Any:
        seen.append(blocks[0].total())
        return original(self, name, blocks, **cost)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Gate, "release", watched)
        FrankWolfe(steps=1, most=1).fit(market, checks.BUDGET, rng=0)
    assert not (seen[0] - np.diag(np.diag(seen[0]))).any()
    assert seen[0].any()


def test_a_saved_model_serves_the_same(market: Ratings, tmp_path: Any) -> None:
    model = FrankWolfe(steps=3).fit(market, checks.LARGE, rng=0).model_
    model.save(tmp_path / "model")
    history = {"item-0003": 5.0, "item-0017": 1.0}
    assert Model.load(tmp_path / "model").recommend(history, n=5).items == model.recommend(history, n=5).items


def _wide(n: int, m: int, per_user: int) -> Ratings:
    rng = np.random.default_rng(0)
    items = np.sort(
        rng.integers(0, m // per_user, (n, per_user)) + np.arange(per_user) * (m // per_user), axis=1
    )
    values = np.clip(3.0 + rng.standard_normal((n, 1)) * 0.7 + 0.5 * rng.standard_normal((n, per_user)), 1, 5)
    return Ratings.from_arrays(
        np.arange(n + 1) * per_user,
        items.ravel(),
        values.ravel(),
        catalogue=Catalogue(np.arange(m)),
        rating_range=(1.0, 5.0),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "m", "per_user", "settings", "megabytes"),
    [
        (20_000, 10_000, 50, {"eigenvector": "oja", "steps": 10}, 250),
        (40_000, 1_000, 10, {"eigenvector": "exact", "steps": 3}, 150),
    ],
)
def test_no_array_of_users_times_items(
    n: int, m: int, per_user: int, settings: dict[str, Any], megabytes: int
) -> None:
    ratings = _wide(n, m, per_user)
    tracemalloc.start()
    start = time.perf_counter()
    try:
        side = FrankWolfe(**settings).fit(ratings, Budget(20.0, 1e-6), rng=0).model_.item_side
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < 60.0
    assert peak < megabytes * 2**20 < n * m * 8
    assert np.isfinite(side.factors).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stpes": 3}, "stpes.*Known settings.*steps"),
        ({"steps": 0}, "steps"),
        ({"eigenvector": "power"}, "eigenvector"),
        ({"row_bound": 0.0}, "row_bound"),
        ({"row_bound": float("nan")}, "row_bound"),
        ({"nuclear_bound": float("inf")}, "nuclear_bound"),
        ({"most": 0}, "most"),
        ({"centre_share": 1.0}, "centre_share"),
        ({"oja_rate": -1.0}, "oja_rate"),
    ],
)
def test_settings_are_checked_by_name(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        FrankWolfe(**settings)
