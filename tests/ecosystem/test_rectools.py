"""RecTools' own evaluation, run on a model of ours, gives the numbers that ours gives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import discreet
from discreet.evaluation.protocol import relevance
from tests.ecosystem.conftest import World

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("rectools", reason="needs RecTools: make ecosystem")
    from rectools import Columns
    from rectools.dataset import Dataset
    from rectools.metrics import (
        MAP,
        MRR,
        NDCG,
        CatalogCoverage,
        HitRate,
        MeanInvUserFreq,
        Precision,
        Recall,
        calc_metrics,
    )

    from discreet.ecosystem.rectools import DiscreetModel

pytestmark = pytest.mark.filterwarnings("ignore")


def frame(ratings):  # type: ignore[no-untyped-def]
    rows = ratings.to_polars().to_pandas()
    return rows.rename(columns={"rating": Columns.Weight, "user": Columns.User, "item": Columns.Item}).assign(
        **{Columns.Datetime: "2024-01-01"}
    )


def test_lists_are_measured_alike(world: World) -> None:
    k = 20
    assert np.diff(world.test.indptr).max() <= k  # then both mean the same by recall and by average precision
    ours = discreet.evaluate(world.model, world.test, history=world.history, k=k)
    low, high = relevance(world.test.scale) or (0.0, 0.0)
    liked, disliked = world.test.values >= low, world.test.values <= high
    dataset = Dataset.construct(frame(world.history))
    model = DiscreetModel(world.model).fit(dataset)
    for rows, metrics in (
        (
            liked,
            {
                f"recall@{k}": Recall(k),
                f"ndcg@{k}": NDCG(k, divide_by_achievable=True),
                f"precision@{k}": Precision(k),
                f"map@{k}": MAP(k),
                "mrr": MRR(k),
                f"hit_rate@{k}": HitRate(k),
                "novelty": MeanInvUserFreq(k),
                "coverage": CatalogCoverage(k, normalize=True),
            },
        ),
        (disliked, {f"disliked@{k}": Recall(k)}),
    ):
        kept = world.test.keep(rows)
        test = kept.take_users(np.diff(kept.indptr) > 0)
        lists = model.recommend(test.user_ids, dataset, k=k, filter_viewed=True)
        theirs = calc_metrics(
            metrics,
            reco=lists,
            interactions=frame(test),
            prev_interactions=frame(world.history),
            catalog=world.model.catalogue.ids,
        )
        assert set(theirs) == set(metrics)
        for name, value in theirs.items():
            assert value == pytest.approx(ours[name].value, rel=1e-12), name
            assert value > 0.02


def test_what_others_met_does_not_decide_what_may_be_recommended(world: World) -> None:
    """Neighbours: whether one user of the data set met an item shows in no stranger's list, and in no similar items."""
    rows, model = frame(world.history), DiscreetModel(world.model)
    rare, other = world.model.recommend({}, 2).items
    asked = world.test.user_ids[:1]
    found = []
    for kept in (rows, rows[rows[Columns.Item] != rare]):
        dataset = Dataset.construct(kept[~kept[Columns.User].isin(asked)])
        strangers = model.recommend(["a stranger"], dataset, k=5, filter_viewed=True)
        alike = model.recommend_to_items([rare, other], dataset, k=60)
        alike = alike.sort_values([Columns.TargetItem, Columns.Rank]).reset_index(drop=True)
        found.append((strangers[Columns.Item].tolist(), alike[[Columns.TargetItem, Columns.Item]].to_dict()))
    assert rare in found[0][0]
    assert found[0] == found[1]
    assert found[0][1][Columns.TargetItem][0] in (rare, other)


def test_some_items_and_items_alike(world: World) -> None:
    dataset = Dataset.construct(frame(world.history))
    model, some = DiscreetModel(world.model), world.model.catalogue.ids[:7].tolist()
    user = world.test.user_ids[0]
    lists = model.recommend([user], dataset, k=3, filter_viewed=False, items_to_recommend=some)
    history = world.history.history(user)
    ours = world.model.recommend(history, 3, exclude_seen=False, allowed=some)
    assert lists[Columns.Item].tolist() == ours.items
    alike = model.recommend_to_items([some[0]], dataset, k=4)
    assert alike[Columns.Item].tolist() == world.model.similar(some[0], 4).items
