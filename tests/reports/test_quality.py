"""Numbers of a report: the same as `discreet evaluate`'s, with intervals that users make."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.reports.report import knowledge_of, neighbours_of, quality_of, table_facts
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


def test_what_is_known_follows_from_the_models_noise_ratios(cases: dict[str, Case]) -> None:
    model = cases["rate"].model
    known = knowledge_of(model)
    assert known is not None
    assert (known.known, known.unknown) == (
        int(model.item_side.known.sum()),
        int(model.item_side.unknown.sum()),
    )  # type: ignore[union-attr]
    assert known.groups[0][2] > known.groups[2][2], "more is learnt of popular items"


@pytest.mark.parametrize("goal", ["rate", "table"])
def test_neighbours_are_those_of_similar(cases: dict[str, Case], goal: str) -> None:
    model = cases[goal].model
    shown = neighbours_of(model)
    assert any(len(others) for others in shown.values())
    for item, others in shown.items():
        assert list(others) == [one for one in model.similar(item, 5) if one.score > 0.0]


def test_a_table_says_of_what_it_speaks_and_its_noise(cases: dict[str, Case]) -> None:
    model = cases["table"].model
    found, side = table_facts(model), model.weights
    assert found is not None
    assert found.items + found.others == len(model.catalogue) == 120
    rows = np.repeat(np.arange(120), np.diff(side.starts))
    assert found.items == len({*rows.tolist(), *side.others.tolist()})
    assert found.noise == pytest.approx(np.sqrt(0.5) / model.statement.releases[-1].mu, rel=1e-6)
    assert table_facts(cases["rate"].model) is None
