"""LensKit's own evaluation, run on a model of ours, gives the numbers that ours gives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import discreet
from discreet.evaluation.protocol import relevance
from tests.ecosystem.conftest import World

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("lenskit", reason="needs LensKit, which needs PyTorch: make ecosystem")
    from lenskit import batch
    from lenskit.data import ItemList, ItemListCollection, UserIDKey, from_interactions_df
    from lenskit.metrics import MAE, NDCG, RMSE, Hit, LogRankWeight, Precision, Recall, RecipRank, RunAnalysis
    from lenskit.metrics.ranking import AveragePrecision
    from lenskit.pipeline import Pipeline, RecPipelineBuilder, predict_pipeline

    from discreet.ecosystem.lenskit import CatalogueCandidates, DiscreetScorer

pytestmark = pytest.mark.filterwarnings("ignore")


def frame(ratings):  # type: ignore[no-untyped-def]
    return ratings.to_polars().to_pandas().rename(columns={"user": "user_id", "item": "item_id"})


def collection(ratings):  # type: ignore[no-untyped-def]
    return ItemListCollection.from_df(frame(ratings), UserIDKey)


def lists_of(world: World, k: int) -> Pipeline:
    builder = RecPipelineBuilder()
    builder.scorer(DiscreetScorer(model=str(world.folder)))
    builder.candidate_selector(CatalogueCandidates(model=str(world.folder)))
    builder.ranker(n=k)
    return builder.build()


def test_what_others_met_does_not_decide_what_may_be_recommended(world: World) -> None:
    """Neighbours: a stranger's list has an item that nobody in the data set met."""
    rows, rare = frame(world.history), world.model.recommend({}, 1).items[0]
    found = []
    for kept in (rows, rows[rows["item_id"] != rare]):
        pipeline = lists_of(world, 5)
        pipeline.train(from_interactions_df(kept))
        found.append(pipeline.run("recommender", query=ItemList([])).ids().tolist())
    assert found[0] == found[1] == world.model.recommend({}, 5).items


@pytest.mark.parametrize("k", [5, 20])
def test_lists_are_measured_alike(world: World, k: int) -> None:
    """Theirs, of our lists and the rows that are liked; what comes back of disliked ones is their recall of these."""
    pipeline = lists_of(world, k)
    pipeline.train(from_interactions_df(frame(world.history)))
    ours = discreet.evaluate(world.model, world.test, history=world.history, k=k)
    low, high = relevance(world.test.scale) or (0.0, 0.0)
    liked, disliked = world.test.values >= low, world.test.values <= high
    for rows, names in (
        (
            liked,
            {
                Recall: "recall",
                NDCG: "ndcg",
                Precision: "precision",
                AveragePrecision: "map",
                RecipRank: "mrr",
                Hit: "hit_rate",
            },
        ),
        (disliked, {Recall: "disliked"}),
    ):
        kept = world.test.keep(rows)
        test = collection(kept.take_users(np.diff(kept.indptr) > 0))
        lists = batch.recommend(pipeline, test.keys(), n=k, n_jobs=1)
        assert all(len(one) == k for one in lists.lists())
        analysis = RunAnalysis()
        for metric, name in names.items():
            weight = {"weight": LogRankWeight(offset=1)} if metric is NDCG else {}
            analysis.add_metric(metric(k, **weight), label=name)
        theirs = analysis.measure(lists, test).list_metrics()
        assert (
            50 < len(theirs) == (ours.holder.with_disliked if rows is disliked else ours.holder.with_relevant)
        )
        for name in names.values():
            measured = ours["mrr" if name == "mrr" else f"{name}@{k}"]
            assert theirs[name].mean() == pytest.approx(measured.value, rel=1e-6), name
            reach = 1.96 * theirs[name].std(ddof=1) / np.sqrt(len(theirs))
            assert measured.high - measured.value == pytest.approx(reach, rel=1e-6), name
            assert 0.0 <= measured.value < 1.0
            assert measured.value > 0.0 or rows is disliked


def test_errors_of_predicted_ratings(world: World) -> None:
    if world.model.goal == "rank":
        pytest.skip("a model that ranks predicts no ratings")
    scorer = DiscreetScorer(model=str(world.folder), scores="rating")
    pipeline = predict_pipeline(scorer, fallback=False)
    pipeline.train(from_interactions_df(frame(world.history)))
    test = collection(world.test)
    predicted = batch.predict(pipeline, test, n_jobs=1)
    analysis = RunAnalysis()
    analysis.add_metric(RMSE())
    analysis.add_metric(MAE())
    theirs = analysis.measure(predicted, test).list_metrics()
    ours = discreet.evaluate(world.model, world.test, history=world.history, only="errors")
    counts = np.diff(world.test.indptr)  # LensKit has a number for each user, we have one for all ratings
    by_user = theirs.reset_index().sort_values("user_id")
    assert np.sqrt(np.average(by_user["RMSE"] ** 2, weights=counts)) == pytest.approx(
        ours["rmse"].value, rel=1e-6
    )
    assert np.average(by_user["MAE"], weights=counts) == pytest.approx(ours["mae"].value, rel=1e-6)


def test_what_the_model_does_not_know_has_no_score(world: World) -> None:
    scorer = DiscreetScorer(model=str(world.folder))
    known = world.model.catalogue.ids[0]
    scored = scorer(ItemList(["nobody-knows"]), ItemList([known, "nor-this"]))
    assert np.isfinite(scored.scores()[0])
    assert np.isnan(scored.scores()[1])
