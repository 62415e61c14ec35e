"""In scikit-learn's pipelines, and never fitted more often than paid for."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discreet import Budget, BudgetExceeded, LedgerFile
from discreet.data.synthetic import market
from discreet.ecosystem.sklearn import PrivateRecommender

RATINGS = market(400, 30, 3_500, rng=1)
FRAME = RATINGS.to_polars().to_pandas()


def estimator(**parameters: Any) -> PrivateRecommender:
    known = {"epsilon": 20.0, "delta": 1e-6, "catalogue": RATINGS.catalogue, "rating": "rating"}
    known |= {"rating_range": (1.0, 5.0), "settings": {"rank": 2, "rounds": 2}, "random_state": 0}
    return PrivateRecommender(**(known | parameters))


def test_a_pipeline_makes_users_into_vectors() -> None:
    one = estimator()
    pipeline = make_pipeline(one, StandardScaler())
    vectors = pipeline.fit_transform(FRAME)
    assert vectors.shape == (400, 3)
    assert one.model_.statement.epsilon <= 20.0
    lists = one.predict(FRAME)
    assert lists.shape == (400, 10)
    assert lists[7].tolist() == one.model_.recommend(RATINGS.history(one.users(FRAME)[7]), 10).items


def test_a_second_fit_is_refused_for_the_estimator_and_for_its_clones() -> None:
    one = estimator(method="popularity", settings=None)
    other = clone(one)
    one.fit(FRAME)
    for again in (one, other, clone(other), pickle.loads(pickle.dumps(estimator()))):
        with pytest.raises(BudgetExceeded, match=r"discreet\.tune"):
            again.fit(FRAME)


def test_a_ledger_pays_for_each_fit_and_refuses_what_is_too_much(tmp_path: Path) -> None:
    ledger = LedgerFile(tmp_path / "people.ledger")
    ledger.set_cap(Budget(30.0, 1e-5))
    one = estimator(method="popularity", settings=None, ledger=ledger)
    one.fit(FRAME)
    with pytest.raises(BudgetExceeded):
        clone(one).set_params(epsilon=25.0).fit(FRAME)


def test_a_grid_search_spends_one_budget_and_no_more() -> None:
    fits = []
    search = GridSearchCV(
        estimator(method="popularity", settings=None), {"epsilon": [10.0, 20.0]}, cv=2, scoring=None
    )
    with pytest.raises(TypeError, match="score"):
        search.fit(FRAME)

    def counted(one: Any, rows: Any, y: Any = None) -> float:
        fits.append(one.model_)
        return 0.0

    search.set_params(scoring=counted, refit=False, error_score=np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        warnings.simplefilter("ignore", UserWarning)
        search.fit(FRAME)
    assert len(fits) == 1
