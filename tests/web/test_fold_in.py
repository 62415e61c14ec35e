"""What the page computes is what the model computes, for every rule, on hundreds of random histories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.model import Model
from tests.web.support.models import RULES, make_model, random_history
from tests.web.support.node import in_the_page

HISTORIES = 300
PULLED = 20


def histories_of(model: Model, count: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    made = []
    for number in range(count):
        history = random_history(model, rng)
        items = model.catalogue.index(list(history)).tolist()
        made.append(
            {"items": items, "values": list(history.values()), "pulled": number < PULLED and bool(items)}
        )
    return made


def folded(model: Model, history: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Coefficients, and the ten best items with their scores, as the model has them."""
    order = np.argsort(history["items"])
    items = np.array(history["items"], dtype=np.int32)[order]
    values = np.array(history["values"], dtype=np.float64)[order]
    indptr = np.array([0, len(items)])
    coefficients = model.item_side.fold_in(indptr, items, values)
    index, scores = model.item_side.top(coefficients, 10, (indptr, items))
    return coefficients, index[0], scores[0]


def overlap(found: Any, expected: Any) -> float:
    return len(set(found) & set(expected.tolist())) / len(expected)


@pytest.mark.parametrize(("kind", "rank"), [*((kind, 8) for kind in RULES), ("OwnMean", 0)])
def test_lists_are_the_models_and_scores_are_what_each_rating_adds(
    kind: str, rank: int, tmp_path: Path
) -> None:
    model = make_model(kind, rank=rank)
    histories = histories_of(model, HISTORIES)
    answers = in_the_page(model, histories, "float64", tmp_path)
    tolerance = 1e-3 if kind == "NonNegative" else 1e-9  # which is solved to a tolerance of its own
    for history, answer in zip(histories, answers, strict=True):
        coefficients, index, scores = folded(model, history)
        np.testing.assert_allclose(answer["coefficients"], coefficients[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(answer["scores"], scores, rtol=1e-7, atol=1e-9)
        assert answer["top"] == index.tolist()
        if history["pulled"]:
            assert len(answer["pulls"]) == len(history["items"])
            assert sum(answer["pulls"]) + answer["unpulled"] == pytest.approx(answer["raw"], abs=tolerance)
        assert answer["marks"] == [mark or "none" for mark in model.item_side.marks(answer["top"])]


def test_smaller_numbers_change_lists_this_little(tmp_path: Path) -> None:
    model = make_model("Ridge", 2000, 32)
    histories = histories_of(model, 200)
    answers = in_the_page(model, histories, "int8", tmp_path)
    pairs = zip(histories, answers, strict=True)
    assert np.mean([overlap(answer["top"], folded(model, history)[1]) for history, answer in pairs]) >= 0.99
