"""Many users at once must equal one user at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from discreet.catalogue import Catalogue
from discreet.errors import HistoryInvalid
from discreet.model import Model, history


@dataclass
class Rows:
    """The least that counts as histories."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]
    user_ids: npt.NDArray[Any]
    catalogue: Catalogue | None


def random_rows(model: Model, users: int, seed: int = 1) -> Rows:
    """Histories of 0 to all items, among them an empty one and a full one."""
    rng = np.random.default_rng(seed)
    n_items = model.item_side.n_items
    counts = np.r_[0, n_items, rng.integers(0, n_items, users - 2)]
    items = [np.sort(rng.choice(n_items, count, replace=False)) for count in counts]
    values = rng.integers(1, 6, counts.sum()) if model.item_side.scale.explicit else np.ones(counts.sum())
    return Rows(
        np.r_[0, np.cumsum(counts)],
        np.concatenate(items).astype(np.int32),
        values.astype(np.float64),
        np.array([f"user-{i}" for i in range(users)], dtype=object),
        model.catalogue,
    )


@pytest.mark.parametrize("name", ["explicit", "implicit"])
def test_every_user_as_if_alone_and_shortfalls_are_null(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    model: Model = request.getfixturevalue(name)
    rows = random_rows(model, 23)
    ids = model.catalogue.ids
    monkeypatch.setattr(history, "BLOCK", 7)
    frame = model.recommend_batch(rows, 5, blocked=[ids[3]])
    assert frame.columns == ["user", "rank", "item", "score"]
    assert frame.height == 23 * 5
    for i, (user,) in enumerate(zip(rows.user_ids, strict=True)):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        alone = model.recommend(
            dict(zip(ids[rows.items[part]], rows.values[part], strict=True)), 5, blocked=[ids[3]]
        )
        mine = frame.filter(pl.col("user") == user)
        assert mine["rank"].to_list() == [1, 2, 3, 4, 5]
        assert mine["item"].to_list() == alone.items + [None] * alone.shortfall
        np.testing.assert_allclose(
            mine["score"].drop_nulls().to_numpy(), [entry.score for entry in alone], rtol=1e-12
        )
        assert mine["score"].null_count() == alone.shortfall
    assert frame["item"].null_count() > 5  # the full user at least


def test_histories_over_another_catalogue_are_refused(explicit: Model) -> None:
    rows = random_rows(explicit, 4)
    for other in (None, Catalogue(list(reversed(explicit.catalogue.ids.tolist())))):
        rows.catalogue = other
        with pytest.raises(HistoryInvalid, match=r"with_catalogue\(model.catalogue\)"):
            explicit.recommend_batch(rows)


@pytest.mark.parametrize("wrong", [0.0, 5.5, np.nan])
def test_impossible_ratings_are_refused_with_the_user(explicit: Model, wrong: float) -> None:
    rows = random_rows(explicit, 4)
    rows.values[3] = wrong  # user-0 is empty, user-1 has all twelve items
    with pytest.raises(HistoryInvalid, match="user 'user-1' has the value"):
        explicit.recommend_batch(rows)


def test_ratings_for_a_model_without_ratings_are_refused(implicit: Model) -> None:
    rows = random_rows(implicit, 4)
    rows.values[:] = 4.0
    with pytest.raises(HistoryInvalid, match=r"must be 1 \(implicit feedback\)"):
        implicit.recommend_batch(rows)
