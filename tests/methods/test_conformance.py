"""What every method must do, private or not: the same tests for all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import ALS, Budget, BudgetedALS, Model, Ratings, kernels
from discreet.data import synthetic
from discreet.methods.dpals.estimator import DPALS
from discreet.methods.frank_wolfe.estimator import FrankWolfe
from discreet.methods.method import PrivateMethod
from discreet.methods.projected_gradient.estimator import ProjectedGradient
from discreet.methods.svd.estimator import PrivateSVD
from discreet.methods.trivial.estimators import GlobalMean, ItemMean, Popularity, UserMean
from discreet.privacy import Gate, Noise
from tests.methods.neighbours import largest_moves

Fit = Callable[[Ratings], Any]
BUDGET = Budget(5.0, 1e-6)
PRIVATE: dict[str, Callable[[], PrivateMethod[Any]]] = {
    "budgeted": BudgetedALS,
    "budgeted, full curvature": lambda: BudgetedALS(rank=4, rounds=3, curvature="full"),
    "offsets": lambda: BudgetedALS(rank=0),
    "dpals": lambda: DPALS(rank=4, most=20, penalty=10.0, gravity=0.1),
    "dpals, weights": lambda: DPALS(rank=4, most=20, sampling="weights", frequent_share=0.5),
    "frank-wolfe": lambda: FrankWolfe(steps=4, most=20),
    "frank-wolfe, as published": lambda: FrankWolfe(steps=4, most=20, skip_noise=False, centre="mean"),
    "frank-wolfe, oja": lambda: FrankWolfe(steps=3, eigenvector="oja", oja_steps=3),
    "svd": lambda: PrivateSVD(rank=4, most=20),
    "svd, as published": lambda: PrivateSVD(rank=4, most=20, denoise=False),
    "projected-gradient": lambda: ProjectedGradient(rank=4, steps=3, most=20),
    "popularity": Popularity,
}
ONLY_RATINGS: dict[str, Callable[[], PrivateMethod[Any]]] = {"global-mean": GlobalMean, "item-mean": ItemMean}
METHODS: dict[str, Fit] = {
    "als": lambda ratings: ALS(rank=8, rounds=5).fit(ratings, rng=0),
    **{name: lambda ratings, make=make: make().fit(ratings, BUDGET, rng=0) for name, make in PRIVATE.items()},
}
CASES = [(name, kind) for name in METHODS for kind in ("explicit", "implicit")]
CASES += [(name, "explicit") for name in (*ONLY_RATINGS, "user-mean")]
METHODS |= {
    name: lambda ratings, make=make: make().fit(ratings, BUDGET, rng=0) for name, make in ONLY_RATINGS.items()
}
METHODS["user-mean"] = lambda ratings: UserMean().fit(ratings)


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def case(request: pytest.FixtureRequest, market: Ratings, clicks: Ratings) -> tuple[Fit, Ratings]:
    name, kind = request.param
    return METHODS[name], market if kind == "explicit" else clicks


@pytest.fixture
def fit(case: tuple[Fit, Ratings]) -> Fit:
    return case[0]


@pytest.fixture
def ratings(case: tuple[Fit, Ratings]) -> Ratings:
    return case[1]


def test_a_fitted_method_gives_a_model_that_serves_a_stranger(
    fit: Fit, ratings: Ratings, tmp_path: Path
) -> None:
    fitted = fit(ratings)
    assert fitted.statement_ is fitted.model_.statement
    ids = ["item-0003", "item-0017"]
    # Popularity takes ratings for choices and serves choices.
    explicit = fitted.model_.item_side.scale.explicit
    history = dict(zip(ids, (5.0, 1.0), strict=True)) if explicit else ids
    found = fitted.model_.recommend(history, n=10)
    assert len(found) == 10
    assert not {"item-0003", "item-0017"} & set(found.items)
    assert np.isfinite([entry.score for entry in found]).all()
    fitted.model_.save(tmp_path / "model")
    assert Model.load(tmp_path / "model").recommend(history, n=10).items == found.items


def test_the_fitted_object_keeps_no_training_data(fit: Fit, ratings: Ratings) -> None:
    """No array anywhere in it has a length that a user or a rating could have."""
    lengths: list[int] = []

    def walk(value: object, depth: int = 0) -> None:
        if isinstance(value, np.ndarray):
            lengths.extend(value.shape)
        elif depth < 6:
            if isinstance(value, dict):
                children = list(value.values())
            elif isinstance(value, list | tuple):
                children = list(value)
            else:
                children = list(getattr(value, "__dict__", {}).values())
            for child in children:
                walk(child, depth + 1)

    walk(fit(ratings))
    assert lengths
    assert max(lengths) <= ratings.n_items
    assert not {ratings.n_users, ratings.n_ratings} & set(lengths)


def test_users_without_ratings_and_items_without_users_do_no_harm(fit: Fit, ratings: Ratings) -> None:
    indptr = np.concatenate([[0, 0], ratings.indptr[1:], [ratings.indptr[-1]] * 3])
    keep = ratings.items != 7
    sums = np.concatenate([[0], np.cumsum(keep)])
    holed = Ratings.from_arrays(
        sums[indptr],
        ratings.items[keep],
        ratings.values[keep],
        catalogue=ratings.catalogue,
        rating_range=ratings.rating_range,
    )
    side = fit(holed).model_.item_side
    assert np.isfinite(side.offsets).all()
    assert np.isfinite(side.factors).all()


@pytest.mark.parametrize("kind", ["explicit", "implicit"])
@pytest.mark.parametrize("name", list(PRIVATE))
def test_what_is_charged_is_what_was_released(
    market: Ratings, clicks: Ratings, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[tuple[str, float]] = []
    original = Gate.release

    def watched(self: Gate, name: str, blocks: list, *, mu: float, delta: float = 0.0) -> dict:
        released.append((name, mu))
        return original(self, name, blocks, mu=mu, delta=delta)

    monkeypatch.setattr(Gate, "release", watched)
    statement = PRIVATE[name]().fit(market if kind == "explicit" else clicks, BUDGET, rng=0).statement_
    assert [(release.name, release.mu) for release in statement.releases] == released
    assert sum(mu**2 for _, mu in released) == pytest.approx(BUDGET.mu**2, rel=1e-9)
    assert statement.private
    assert statement.epsilon is not None
    assert 5.0 * (1.0 - 1e-9) <= statement.epsilon <= 5.0


@pytest.mark.parametrize("kind", ["explicit", "implicit"])
@pytest.mark.parametrize("name", list(PRIVATE))
def test_same_model_for_any_threads_and_any_order_of_users(
    market: Ratings, clicks: Ratings, name: str, kind: str
) -> None:
    ratings = market if kind == "explicit" else clicks

    def train(data: Ratings, threads: int) -> np.ndarray:
        with kernels.threads(threads):
            side = (
                PRIVATE[name]()
                .fit(data, BUDGET, rng=0, noise=Noise.fixed_key_not_private("test"))
                .model_.item_side
            )
        return np.column_stack([side.offsets, side.factors])

    reference = train(ratings, 1)
    np.testing.assert_array_equal(train(ratings, 2), reference)
    shuffled = ratings.take_users(np.random.default_rng(1).permutation(ratings.n_users))
    np.testing.assert_array_equal(train(shuffled, 2), reference)


@pytest.mark.parametrize("kind", ["explicit", "implicit"])
@pytest.mark.parametrize("name", [name for name in PRIVATE if not name.startswith(("budgeted", "offsets"))])
def test_no_user_moves_any_release_of_a_whole_run_by_more_than_its_charge(
    crowd: Ratings, name: str, kind: str
) -> None:
    """Whole runs with and without a user, on the same public state; the budgeted family has tests of its own."""
    ratings = crowd if kind == "explicit" else _clicks(crowd)
    moves = largest_moves(
        lambda data, gate: PRIVATE[name]()._train(data, gate, np.random.default_rng(0), None), ratings
    )
    assert moves
    assert max(moves.values()) <= 1.0 + 1e-9, moves


def _clicks(ratings: Ratings) -> Ratings:
    return Ratings.from_arrays(
        ratings.indptr,
        ratings.items,
        np.ones(ratings.n_ratings),
        catalogue=ratings.catalogue,
        rating_range=None,
    )


@pytest.fixture(scope="module")
def crowd() -> Ratings:
    """Few users, so that each of them is seen in every sum; the first two rate everything, high and low."""
    some = synthetic.market(60, 30, 400, rng=3)
    whole = np.arange(30)
    return Ratings.from_arrays(
        np.concatenate([[0, 30], 60 + some.indptr]),
        np.concatenate([whole, whole, some.items]),
        np.concatenate([np.full(30, 5.0), np.where(whole % 2, 5.0, 1.0), some.values]),
        catalogue=some.catalogue,
        rating_range=(1.0, 5.0),
    )
