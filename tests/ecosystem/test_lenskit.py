"""LensKit's own evaluation, run on a model of ours, gives the numbers that ours gives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from discreet.evaluation import evaluate_ranking, evaluate_ratings
from tests.ecosystem.conftest import World

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("lenskit", reason="needs LensKit, which needs PyTorch: make ecosystem")
    from lenskit import batch
    from lenskit.data import ItemList, ItemListCollection, UserIDKey, from_interactions_df
    from lenskit.metrics import MAE, NDCG, RMSE, LogRankWeight, Recall, RunAnalysis
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
def test_recall_and_ndcg(world: World, k: int) -> None:
    pipeline = lists_of(world, k)
    pipeline.train(from_interactions_df(frame(world.history)))
    test = collection(world.test)
    lists = batch.recommend(pipeline, test.keys(), n=k, n_jobs=1)
    analysis = RunAnalysis()
    analysis.add_metric(Recall(k))
    analysis.add_metric(NDCG(k, weight=LogRankWeight(offset=1)))
    theirs = analysis.measure(lists, test).list_metrics()
    ours = evaluate_ranking(world.model, world.history, world.test, k)
    assert len(theirs) == ours.users
    assert theirs[f"Recall@{k}"].mean() == pytest.approx(ours.recall, rel=1e-12)
    assert theirs[f"NDCG@{k}"].mean() == pytest.approx(ours.ndcg, rel=1e-12)
    assert 0.1 < ours.recall < 0.9


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
    ours = evaluate_ratings(world.model, world.history, world.test)
    counts = np.diff(world.test.indptr)  # LensKit has a number for each user, we have one for all ratings
    by_user = theirs.reset_index().sort_values("user_id")
    assert np.sqrt(np.average(by_user["RMSE"] ** 2, weights=counts)) == pytest.approx(ours.rmse, rel=1e-6)
    assert np.average(by_user["MAE"], weights=counts) == pytest.approx(ours.mae, rel=1e-6)


def test_what_the_model_does_not_know_has_no_score(world: World) -> None:
    scorer = DiscreetScorer(model=str(world.folder))
    known = world.model.catalogue.ids[0]
    scored = scorer(ItemList(["nobody-knows"]), ItemList([known, "nor-this"]))
    assert np.isfinite(scored.scores()[0])
    assert np.isnan(scored.scores()[1])
