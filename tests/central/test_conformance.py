"""What every method must do, private or not: the same tests for all of them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet import ALS, Budget, BudgetedALS, Model, Ratings

Fit = Callable[[Ratings], ALS | BudgetedALS]
METHODS: dict[str, Fit] = {
    "als": lambda ratings: ALS(rank=8, rounds=5).fit(ratings, rng=0),
    "budgeted": lambda ratings: BudgetedALS().fit(ratings, Budget(5.0, 1e-6), rng=0),
    "budgeted, full curvature": lambda ratings: BudgetedALS(rank=4, rounds=3, curvature="full").fit(
        ratings, Budget(5.0, 1e-6), rng=0
    ),
    "offsets": lambda ratings: BudgetedALS(rank=0).fit(ratings, Budget(5.0, 1e-6)),
}


@pytest.fixture(params=list(METHODS))
def fit(request: pytest.FixtureRequest) -> Fit:
    return METHODS[request.param]


@pytest.fixture(params=["explicit", "implicit"])
def ratings(request: pytest.FixtureRequest, market: Ratings, clicks: Ratings) -> Ratings:
    return market if request.param == "explicit" else clicks


def test_a_fitted_method_gives_a_model_that_serves_a_stranger(
    fit: Fit, ratings: Ratings, tmp_path: Path
) -> None:
    fitted = fit(ratings)
    assert fitted.statement_ is fitted.model_.statement
    history = {"item-0003": 5.0, "item-0017": 1.0} if ratings.explicit else ["item-0003", "item-0017"]
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
