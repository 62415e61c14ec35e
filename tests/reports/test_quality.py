"""Numbers of a report: the same as `discreet evaluate`'s, with intervals that users make."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.model import Model
from discreet.privacy.accounting import mu_from
from discreet.reports.items import map_of, neighbours_of
from discreet.reports.knowledge import knowledge_of, table_facts
from discreet.reports.quality import quality_of
from discreet.types import Floats
from tests.model.models import make_model
from tests.reports.conftest import Case


def test_errors_are_those_of_evaluate(cases: dict[str, Case]) -> None:
    case = cases["rate"]
    found, wanted = (
        quality_of(case.model, case.train, case.test),
        evaluate_ratings(case.model, case.train, case.test),
    )
    values = {name: one.value for name, one in found.scores.items()}
    assert values == pytest.approx(
        {"model": wanted.rmse, "global mean": wanted.global_mean_rmse, "user mean": wanted.user_mean_rmse}
    )
    assert found.better.value == pytest.approx(wanted.user_mean_rmse - wanted.rmse)
    assert found.better.low > 0.0
    assert (found.users, found.ratings) == (wanted.users, wanted.ratings)


def test_lists_are_those_of_evaluate(cases: dict[str, Case]) -> None:
    case = cases["rank"]
    found, wanted = (
        quality_of(case.model, case.train, case.test),
        evaluate_ranking(case.model, case.train, case.test),
    )
    assert found.measure == "recall@20"
    assert found.scores["model"].value == pytest.approx(wanted.recall)
    assert found.scores["popularity"].value == pytest.approx(wanted.popularity_recall)
    assert found.users == wanted.users


@pytest.mark.parametrize("goal", ["rate", "rank"])
def test_slices_are_the_whole_catalogue_and_all_test_ratings(cases: dict[str, Case], goal: str) -> None:
    case = cases[goal]
    found = quality_of(case.model, case.train, case.test)
    assert [one.name for one in found.slices] == ["head", "middle", "tail"]
    assert sum(one.items for one in found.slices) == 120
    assert sum(one.ratings for one in found.slices) == case.test.n_ratings
    assert found.slices[0].ratings > found.slices[1].ratings > found.slices[2].ratings
    head = np.argsort(-np.bincount(case.train.items, minlength=120), kind="stable")[:24]
    assert found.slices[0].ratings == np.isin(case.test.items, head).sum(), "popular in the histories"
    if goal == "rate":
        squares = sum(one.ratings * (one.model or 0.0) ** 2 for one in found.slices)
        assert np.sqrt(squares / case.test.n_ratings) == pytest.approx(found.scores["model"].value)


def test_intervals_cover_what_other_users_give(cases: dict[str, Case]) -> None:
    """Widths are those of a mean over users: two halves of the users differ by about as much."""
    case = cases["rate"]
    one = quality_of(case.model, case.train, case.test).scores["model"]
    assert one.low < one.value < one.high
    half = case.test.n_users // 2
    parts = [
        evaluate_ratings(case.model, case.train, case.test.take_users(part)).rmse
        for part in (slice(0, half), slice(half, None))
    ]
    spread = (one.high - one.low) / 3.92
    assert abs(parts[0] - parts[1]) < 2.0 * 3.0 * spread
    few = quality_of(case.model, case.train, case.test.take_users(slice(0, 100))).scores["model"]
    assert (few.high - few.low) > 2.0 * (one.high - one.low)


def test_what_is_known_follows_from_the_models_doubt(cases: dict[str, Case]) -> None:
    model = cases["rate"].model
    known = knowledge_of(model)
    assert known is not None
    assert (known.known, known.unknown) == (
        int(model.item_side.known.sum()),
        int(model.item_side.doubt.unknown.sum()),
    )  # type: ignore[union-attr]
    assert known.groups[0][2] > known.groups[2][2], "more is learnt of popular items"
    first, *others = known.more
    assert (first.factor, first.learnt, first.known) == (1.0, pytest.approx(known.learnt.mean()), known.known)
    learnt = [one.learnt for one in known.more]
    assert learnt == sorted(learnt)
    for one in others:
        assert mu_from(one.epsilon, 1e-6) == pytest.approx(one.factor * model.statement.mu, rel=1e-6)  # type: ignore[arg-type]


def test_the_map_keeps_distances_of_two_dimensional_items() -> None:
    """With two factors nothing is left out: what is near in the model is near on the map."""
    model = make_model("explicit", items=40, rank=2)
    found = map_of(model)
    assert found is not None
    assert found.share == pytest.approx(1.0)
    lengths = np.linalg.norm(model.item_side.factors, axis=1)
    usual = np.sqrt(np.square(lengths).mean())
    vectors = (model.item_side.factors / np.maximum(lengths, usual)[:, np.newaxis])[found.positions]
    for a, b in ((0, 1), (2, 7), (5, 30)):
        wanted = np.linalg.norm(vectors[a] - vectors[b])
        assert np.linalg.norm(found.places[a] - found.places[b]) == pytest.approx(wanted)


@pytest.mark.parametrize("goal", ["rate", "table"])
def test_neighbours_are_those_of_similar(cases: dict[str, Case], goal: str) -> None:
    model = cases[goal].model
    shown = neighbours_of(model)
    assert any(one.others for one in shown)
    for one in shown:
        wanted = [other for other in model.similar(one.item, 5) if other.score > 0.0]
        assert [(item, score, deviation) for item, _, score, deviation in one.others] == [
            (other.item, other.score, other.deviation) for other in wanted
        ]


def test_a_table_says_of_what_it_speaks_and_its_noise(cases: dict[str, Case]) -> None:
    model = cases["table"].model
    found = table_facts(model)
    assert found is not None
    assert found.items + found.others == len(model.catalogue) == 120
    assert found.items == len({one for pair in zip(*np.nonzero(_dense(model)), strict=True) for one in pair})
    pairs = model.statement.releases[-1]
    assert found.noise == pytest.approx(np.sqrt(0.5) / pairs.mu, rel=1e-6)
    assert table_facts(cases["rate"].model) is None


def _dense(model: Model) -> Floats:
    side = model.weights
    starts, others, weights = side.starts, side.others, side.weights
    dense = np.zeros((len(starts) - 1, len(starts) - 1))
    dense[np.repeat(np.arange(len(starts) - 1), np.diff(starts)), others] = weights
    return dense


def test_a_model_without_factors_or_doubt_has_a_report_too() -> None:
    model = make_model("explicit", rank=0)
    assert neighbours_of(model) == ()
    assert map_of(model) is None
    assert knowledge_of(model) is None
    assert isinstance(model, discreet.Model)
