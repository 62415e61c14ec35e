"""What may be a history, and what a person is told when it may not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.errors import HistoryInvalid
from discreet.model import Model


def test_order_and_form_of_a_history_do_not_matter(explicit: Model) -> None:
    items = ["item-0", "item-7"]
    expected = explicit.predict({"item-2": 5, "item-9": 1}, items)
    for same in (
        {"item-9": 1, "item-2": 5},
        [("item-9", 1), ("item-2", 5)],
        [["item-9", "1"], ["item-2", "5.0"]],
    ):
        np.testing.assert_array_equal(explicit.predict(same, items), expected)


def test_numbers_and_their_texts_are_the_same_item(implicit: Model) -> None:
    np.testing.assert_array_equal(
        implicit.predict(["20", 30.0], [0]), implicit.predict([np.int64(20), 30], ["0"])
    )


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (
            {"item-2": 5, "ghost": 1, "item-99": 2},
            r"names 2 of 3 items.*'ghost', 'item-99'.*unknown_items=\"drop\"",
        ),
        ({f"x{i}": 3 for i in range(9)}, r"'x0', 'x1', 'x2', 'x3', 'x4' and 4 more"),
        ({"item-2": 6}, r"'item-2' is 6, outside the model's range 1 to 5"),
        ({"item-2": 0.99}, "outside"),
        ({"item-2": math.nan}, "'item-2' is nan, outside"),
        ({"item-2": math.inf}, "outside"),
        ({"item-2": None}, "is None, not a number"),
        ({"item-2": "good"}, "is 'good', not a number"),
        ([("item-2", 4), ("item-2", 5)], "names 'item-2' more than once"),
        (["item-2"], "a bare list of item ids has no ratings"),
        ("item-2", "a mapping of item id to rating"),
        (5, "a mapping of item id to rating"),
        ({("item-2",): 4}, "does not have"),
        ({True: 4}, "does not have: True"),
    ],
)
def test_unusable_explicit_histories(explicit: Model, history: Any, message: str) -> None:
    with pytest.raises(HistoryInvalid, match=message):
        explicit.recommend(history)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([10, 20, 10], "names 10 more than once"),
        ([10, "10"], "names '10' more than once"),
        ({10: 1.0, 20: 4.0}, "without ratings; pass a list of item ids"),
        ("10", "a list of item ids"),
        ([10, 11], r"names 1 of 2 items.*: 11\. The catalogue has 12 ids such as 0, 10"),
        ([2**70], "does not have"),
    ],
)
def test_unusable_implicit_histories(implicit: Model, history: Any, message: str) -> None:
    with pytest.raises(HistoryInvalid, match=message):
        implicit.recommend(history)


def test_unknown_items_can_be_ignored_and_are_counted(explicit: Model) -> None:
    found = explicit.recommend({"item-2": 5, "ghost": 1}, 4, blocked=["phantom"], unknown_items="drop")
    assert found.ignored == 2
    assert found.entries == explicit.recommend({"item-2": 5}, 4).entries
