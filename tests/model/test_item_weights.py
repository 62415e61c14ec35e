"""A table of weights: its scores in plain Python, its bytes and folder, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Model
from discreet.errors import ModelInvalid
from discreet.model.item_weights import ItemWeights
from discreet.model.storage import item_side_to_bytes, side_from_bytes
from tests.conformance.runs import same
from tests.model.models import make_table

KINDS = ("explicit", "implicit")


def table(feedback: str = "implicit", **other: Any) -> ItemWeights:
    side = make_table(feedback, **other).item_side
    assert isinstance(side, ItemWeights)
    return side


def dense(side: ItemWeights) -> np.ndarray:
    weights = np.zeros((side.n_items, side.n_items))
    rows = np.repeat(np.arange(side.n_items), np.diff(side.starts))
    weights[rows, side.others] = side.weights
    return weights


HISTORIES = np.array([0, 3, 3, 5]), np.array([0, 4, 11, 2, 7], np.int32)


@pytest.mark.parametrize("feedback", KINDS)
def test_scores_are_sums_of_rows_and_of_the_base(feedback: str) -> None:
    side = table(feedback)
    values = (
        np.array([1.0, 5.0, 3.0, 2.0, 4.0]) if side.scale.explicit else np.array([1.0, -1.0, 1.0, 1.0, 1.0])
    )
    said = [-0.8, 1.0, 0.2, -0.4, 0.7] if side.scale.explicit else [1.0, -0.8, 1.0, 1.0, 1.0]
    people = np.zeros((3, 12))
    people[[0, 0, 0, 2, 2], HISTORIES[1]] = said
    wanted = people @ dense(side) + side.base
    evidence = side.fold_in(*HISTORIES, values)
    users, items = np.repeat(np.arange(3), 12), np.tile(np.arange(12), 3)
    assert side.predict(evidence, users, items) == pytest.approx(wanted.ravel(), rel=1e-6, abs=1e-12)
    found, _ = side.top(evidence, 12)
    assert np.array_equal(found, np.argsort(-wanted, axis=1, kind="stable"))
    for user in range(3):
        mine = slice(HISTORIES[0][user], HISTORIES[0][user + 1])
        own = np.array([0, mine.stop - mine.start]), HISTORIES[1][mine], values[mine]
        for item in range(12):
            whole = side.terms(*own, item)[2].sum() + side.base[item]
            assert whole == pytest.approx(wanted[user, item], rel=1e-6, abs=1e-12)


def test_what_was_disliked_pushes_down() -> None:
    model = make_table("explicit")
    loved, hated = (model.recommend({"item-0": stars}, n=11) for stars in (5.0, 1.0))
    change = {one.item: one.score for one in loved}
    weights = dense(table("explicit"))[0]
    for entry in hated:
        place = int(str(entry.item).removeprefix("item-"))
        assert change[entry.item] - entry.score == pytest.approx(1.8 * weights[place], rel=1e-5, abs=1e-9)


def test_a_model_that_learnt_nothing_lists_nothing() -> None:
    none = np.zeros(0, np.float32)
    side = replace(table(), starts=np.zeros(13, np.int64), others=np.zeros(0, np.int32), weights=none)
    side = replace(side, together=none, base=np.full(12, 0.1))
    evidence = side.fold_in(*HISTORIES, np.ones(5))
    assert side.says_nothing
    assert (side.top(evidence, 5)[0] == -1).all()
    popular = replace(side, base=np.linspace(0.1, 0.2, 12))
    assert (popular.top(evidence, 1)[0] == 11).all()


def test_popular_items_stand_out_by_two_deviations_of_the_noise() -> None:
    side = table(sums=True)
    assert side.sums is not None
    sums = replace(side.sums, counts_sigma=2.0)
    counts = np.full(12, 10.0)
    counts[:4] = 10.0, 13.0, 16.0, 40.0  # 13.25 on the average
    assert replace(side, counts=counts, sums=sums).standing_out == 1
    assert replace(side, counts=counts, sums=replace(sums, counts_sigma=1.0)).standing_out == 2


def test_neighbours_stand_out_of_the_noise_of_all_pairs() -> None:
    side = table()
    rows = np.count_nonzero(np.diff(side.starts))
    for item in range(12):
        row = slice(side.starts[item], side.starts[item + 1])
        out = {
            int(other): together / math.sqrt(side.mass[item] * side.mass[other])
            for other, together in zip(side.others[row], side.together[row].tolist(), strict=True)
            if together > 3.0 * math.sqrt(2.0 * math.log(rows))
        }
        found = side.similar(item, 12, "it")
        assert dict(zip(found.items.tolist(), found.likeness.tolist(), strict=True)) == pytest.approx(out)
        assert (np.diff(found.likeness) <= 0.0).all()
        wanted = [3.0 / math.sqrt(side.mass[item] * side.mass[other]) for other in found.items]
        assert found.deviation.tolist() == pytest.approx(wanted)
    assert any(len(side.similar(item, 12, "it").items) for item in range(12))


@pytest.mark.parametrize("feedback", KINDS)
@pytest.mark.parametrize("sums", [True, False])
def test_a_table_is_written_and_read_to_the_last_bit(feedback: str, sums: bool, tmp_path: Path) -> None:
    model = make_table(feedback, sums=sums)
    body = item_side_to_bytes(model.item_side)
    read = side_from_bytes(body)
    assert isinstance(read, ItemWeights)
    assert same(read, model.item_side)
    assert item_side_to_bytes(read) == body
    assert (read.sums is None) == (not sums)
    back = Model.load(model.save(tmp_path / "model"))
    assert back.digest == model.digest
    assert same(back.item_side, model.item_side)
    history: Any = {"item-2": 5.0} if feedback == "explicit" else ["item-2"]
    assert back.recommend(history, n=4) == model.recommend(history, n=4)


GOOD = table()
M, ENTRIES, PAIRS = 12, len(GOOD.others), 55
ROW = int(np.flatnonzero(np.diff(GOOD.starts) > 1)[0])
FIRST = int(GOOD.starts[ROW])
NAN, INF = float("nan"), float("inf")


def changed(array: np.ndarray, place: int, value: float) -> np.ndarray:
    other = array.copy()
    other[place] = value
    return other


FAR = np.zeros(M + 1, np.int64)
FAR[1:3] = 2**63 - 1, -2
FAR[3:] = ENTRIES
WRONG: dict[str, dict[str, Any]] = {
    "counts in rows": {"counts": GOOD.counts.reshape(3, 4)},
    "a count that is none": {"counts": changed(GOOD.counts, 3, NAN)},
    "no items": {"counts": GOOD.counts[:0], "mass": GOOD.mass[:0], "starts": GOOD.starts[:1]},
    "fewer numbers in the base": {"base": GOOD.base[1:]},
    "mass below nothing": {"mass": changed(GOOD.mass, 11, -1.0)},
    "no mass where there are weights": {"mass": changed(GOOD.mass, 0, 0.0)},
    "hardly any mass where there are weights": {"mass": changed(GOOD.mass, 0, 1e-300)},
    "rows that do not begin at the beginning": {"starts": changed(GOOD.starts, 0, 1)},
    "rows that fall": {"starts": changed(GOOD.starts, 2, 0)},
    "rows so far apart that differences wrap around": {"starts": FAR},
    "an item below": {"others": changed(GOOD.others, 0, -1)},
    "an item beyond": {"others": changed(GOOD.others, ENTRIES - 1, M)},
    "an item twice in a row": {"others": changed(GOOD.others, FIRST + 1, int(GOOD.others[FIRST]))},
    "fewer others": {"others": GOOD.others[:-1]},
    "a weight that is none": {"weights": changed(GOOD.weights, 0, NAN)},
    "together without end": {"together": changed(GOOD.together, 0, INF)},
    "noise below nothing": {"noise": -1.0},
    "noise that is none": {"noise": NAN},
}  # fmt: skip
assert GOOD.sums is not None
WRONG_SUMS: dict[str, dict[str, Any]] = {
    "fewer pairs": {"pairs": GOOD.sums.pairs[:-1]},
    "pairs that are none": {"pairs": changed(GOOD.sums.pairs, 0, NAN)},
    "a head that falls": {"head": GOOD.sums.head[::-1]},
    "an item beyond": {"head": changed(GOOD.sums.head, 10, M)},
    "items so far apart that differences wrap around": {
        "head": np.array([0, 2**31 - 1, -2, *range(1, 9)], np.int32)
    },
    "a head in rows": {"head": GOOD.sums.head[:, np.newaxis]},
    "noise of pairs below nothing": {"sigma": -1.0},
    "noise of people without end": {"users_sigma": INF},
}  # fmt: skip


@pytest.mark.parametrize("what", list(WRONG))
def test_arrays_that_do_not_fit_are_refused(what: str) -> None:
    GOOD.check()
    with pytest.raises(ModelInvalid):
        replace(GOOD, **WRONG[what]).check()
    if "noise" not in WRONG[what]:
        body = item_side_to_bytes(replace(GOOD, **WRONG[what]))
        with pytest.raises(ModelInvalid):
            side_from_bytes(body)


@pytest.mark.parametrize("what", list(WRONG_SUMS))
def test_sums_that_do_not_fit_are_refused(what: str) -> None:
    assert GOOD.sums is not None
    with pytest.raises(ModelInvalid):
        replace(GOOD, sums=replace(GOOD.sums, **WRONG_SUMS[what])).check()
