"""A table of weights in the page: the lists of the model, and small enough to load."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.model import Model
from discreet.statements.document import write_document
from discreet.web.page import page_files, rounded_weights
from tests.web.support.models import TABLES, make_model
from tests.web.support.node import in_the_page
from tests.web.test_fold_in import folded, histories_of

HISTORIES = 300


@pytest.mark.parametrize("kind", TABLES)
def test_the_pages_lists_are_the_models(kind: str, tmp_path: Path) -> None:
    model = make_model(kind, 900, head=800, kept=3)  # from one weight of a row to the next it is far
    histories = histories_of(model, HISTORIES)
    answers = in_the_page(model, histories, "float64", tmp_path)
    assert any(any(answer["pulls"]) for answer in answers if "pulls" in answer)
    for history, answer in zip(histories, answers, strict=True):
        _, index, scores = folded(model, history)
        assert answer["top"] == index.tolist()
        np.testing.assert_allclose(answer["scores"], scores, rtol=1e-12, atol=1e-15)
        if history["pulled"]:
            assert sum(answer["pulls"]) + answer["unpulled"] == pytest.approx(answer["raw"], abs=1e-12)


@pytest.mark.parametrize("table", TABLES)
def test_rounded_weights_give_the_lists_of_a_model_that_has_them(table: str, tmp_path: Path) -> None:
    model = make_model(table, 900)
    histories = histories_of(model, HISTORIES)
    answers = in_the_page(model, histories, "int8", tmp_path)
    rounded = with_rounded_weights(model)
    assert not np.array_equal(rounded.weights.weights, model.weights.weights)
    for history, answer in zip(histories, answers, strict=True):
        _, index, scores = folded(rounded, history)
        assert answer["top"] == index.tolist()
        np.testing.assert_allclose(answer["scores"], scores, rtol=1e-7, atol=1e-12)


def with_rounded_weights(model: Model) -> Model:
    """The model that the page has: whole numbers times their scales."""
    side = model.weights
    whole, scales = rounded_weights(side)
    share = whole.astype(np.float64) * np.abs(whole.astype(np.float64)) / 127**2
    return replace(model, item_side=replace(side, weights=(share * scales[side.others]).astype(np.float32)))


@pytest.mark.slow
def test_27000_titles_with_a_head_of_6000_load_in_less_than_4_mb(tmp_path: Path) -> None:
    model = make_model("ClickTable", 27_000, head=6000, kept=300)
    files = page_files(model, write_document(model.save(tmp_path / "model")))
    assert len(model.weights.others) > 1_790_000
    assert sum(len(file.packed or file.content) for file in files.values()) < 4_000_000
