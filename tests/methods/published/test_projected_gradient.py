"""Private projected gradient end to end: what it spends, what it depends on, what it learns."""

from typing import Any

import numpy as np
import pytest

from discreet import Budget, Catalogue, Ratings
from discreet.data import synthetic
from discreet.errors import CatalogueInvalid
from discreet.evaluation import evaluate_ratings
from discreet.methods.private_half import PrivateHalf
from discreet.methods.published.private.projected_gradient import ProjectedGradient
from discreet.methods.shared.public.spectrum import leading, seen_share
from discreet.privacy.gaussian.clipped import DenseRows
from tests.conformance.runs import LARGE, Run, record

BUDGET = Budget(2.0, 1e-6)


def test_one_release_a_round_and_one_for_the_mean(market: Ratings, clicks: Ratings) -> None:
    for ratings, first in ((market, ["mean rating"]), (clicks, [])):
        few = ratings.take_users(slice(0, 500))
        statement = ProjectedGradient(rounds=2, centre="mean").fit(few, BUDGET, rng=0).statement_
        assert [release.name for release in statement.releases] == [*first, "step 1", "step 2"]


def test_a_low_rank_world_is_learnt_and_steps_help() -> None:
    train, test = synthetic.low_rank(4_000, n_items=600, rank=3, rng=0)

    def error(steps: int) -> float:
        method = ProjectedGradient(rounds=steps, row_clip=9.0)
        return evaluate_ratings(method.fit(train, Budget(20.0, 1e-6), rng=0).model_, train, test).rmse

    errors = [error(steps) for steps in (1, 4)]
    assert errors[1] < 0.12
    assert errors[1] < 0.8 * errors[0]


def _handed_in(half: PrivateHalf, run: Run) -> list[DenseRows]:
    """The blocks of every step."""
    return [half.contributions(query)[0] for query in run.queries]  # type: ignore[misc]


@pytest.mark.parametrize("explicit", [True, False])
@pytest.mark.parametrize("size", [0.7, "auto"])
def test_rows_are_those_of_the_definition(
    explicit: bool, size: float | str, market: Ratings, clicks: Ratings
) -> None:
    """All users and items in one array, the released matrices as they were: the same rows in every step."""
    ratings = (market if explicit else clicks).take_users(slice(0, 400))
    bound, gravity = 5.0, 0.4 * (not explicit)
    settings: dict[str, Any] = {
        "rounds": 4,
        "rank": 3,
        "max_ratings": None,
        "row_clip": bound,
        "step_size": size,
    }
    run = record(ProjectedGradient(**settings | ({} if explicit else {"gravity": gravity})), ratings)
    steps = _handed_in(run.users(), run)
    users = np.repeat(np.arange(400), np.diff(ratings.indptr))
    x, omega, rows = np.zeros((3, 400, ratings.n_items))
    x[users, ratings.items], omega[users, ratings.items] = ratings.values - 3.0 * explicit, 1.0
    eta, length = 1.0, bound
    for step, (block, out) in enumerate(zip(steps, run.releases, strict=True)):
        w = (1.0 - eta * gravity) * rows - eta * omega * (rows - x)
        made = block.rows(0, 400) / 2.0**14
        norms = np.linalg.norm(w, axis=1, keepdims=True)
        np.testing.assert_allclose(made, w / np.maximum(norms, length), atol=2.0**-13)
        moment = out["rows"] / 2.0**28
        values, vectors = leading(moment - np.diag(np.diag(moment)), 3)
        singular = np.sqrt(np.maximum(values, 0.0))
        vectors, singular = vectors[:, singular > 0.05 * singular[0]], singular[singular > 0.05 * singular[0]]
        if step == 0:
            eta = 1.0 / (seen_share(vectors[:, 0], 80) + gravity) if size == "auto" else float(size)
            length, w = bound * min(eta, (200 / 80) ** 0.5), eta * x
        rows = w @ vectors * (1.0 - 0.05 * singular[0] / singular) @ vectors.T
        rows *= np.minimum(1.0, length / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-100))
    assert len(steps) == 4


@pytest.mark.parametrize("explicit", [True, False])
def test_what_is_served_is_where_the_steps_come_to_rest(
    explicit: bool, market: Ratings, clicks: Ratings
) -> None:
    """V f V^T applied to stepped rows, again and again, ends at the served row."""
    ratings = market if explicit else clicks
    eta, shrinkage, gravity = 0.8, 0.2, 0.3
    settings: dict[str, Any] = {"step_size": eta, "shrinkage": shrinkage, "max_ratings": None, "rank": 4}
    if not explicit:
        settings["gravity"] = gravity
    side = ProjectedGradient(**settings).fit(ratings, LARGE, rng=0).model_.item_side
    penalties = 1.0 / (side.factors**2).sum(axis=0)
    directions, shrinks = side.factors * np.sqrt(penalties), 1.0 / (1.0 + eta * penalties)
    np.testing.assert_allclose(directions.T @ directions, np.eye(side.rank), atol=1e-5)
    assert shrinks[0] == pytest.approx(1.0 - shrinkage)
    assert (np.diff(shrinks) <= 0).all()
    few = ratings.take_users(slice(0, 10))
    users = np.repeat(np.arange(10), np.diff(few.indptr))
    rows = np.zeros((10, ratings.n_items))
    targets = few.values - side.centre
    for _ in range(3_000):
        step = rows * (1.0 if explicit else 1.0 - eta * gravity)
        step[users, few.items] -= eta * (rows[users, few.items] - targets)
        rows = (step @ directions * shrinks) @ directions.T
    served = side.fold_in(few.indptr, few.items, few.values) @ side.design.T
    np.testing.assert_allclose(served, rows, atol=1e-6)


def test_too_many_items_are_refused_before_anything_is_spent() -> None:
    items = np.arange(6_000)
    ratings = Ratings.from_arrays(
        np.arange(0, 6_001, 6), items, np.full(6_000, 4.0), catalogue=Catalogue(items), rating_range=(1, 5)
    )
    with pytest.raises(CatalogueInvalid, match=r"6,000 items .*oja"):
        ProjectedGradient().fit(ratings, BUDGET)
