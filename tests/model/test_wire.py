"""The one form in which public things travel: what was written comes back to the last bit, and nothing else does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.catalogue.scale import RatingScale
from discreet.errors import ModelInvalid
from discreet.model.fold_in import Clicks, FoldIn, FrankWolfeReplay, NonNegative, OwnMean, Ridge
from discreet.model.item_side import FeatureMap, ItemSide
from discreet.model.storage import item_side_from_bytes, item_side_to_bytes
from discreet.model.wire import from_parts, to_parts
from discreet.types import Floats
from tests.conformance.runs import same

FORMAT = "discreet item side 2"
ITEMS, RANK = 5, 2
RULES: dict[str, FoldIn] = {
    "ridge": Ridge(0.5, 2.0, 1.0),
    "clicks": Clicks(0.1, 3.0, 0.5),
    "own mean": OwnMean(np.linspace(0.0, 1.0, ITEMS), 0.25),
    "frank-wolfe": FrankWolfeReplay(np.array([4.0, 0.0]), 7.0, 2.0),
    "non-negative": NonNegative(0.75),
}


def side_with(rule: FoldIn, full: bool = True) -> ItemSide:
    """With all that an item side may have, or with as little as possible."""
    rng = np.random.default_rng(0)
    scale = RatingScale(None if isinstance(rule, Clicks) else (1.0, 5.0))
    arrays = rng.normal(size=ITEMS), rng.normal(size=(ITEMS, RANK))
    if not full:
        return ItemSide(scale, 0.5, *arrays, rule)
    known = rng.random(ITEMS), np.arange(ITEMS) > 2
    guesses = FeatureMap(rng.normal(size=(4, 1 + RANK)), rng.normal(size=1 + RANK), 0.25)
    takes_new = not isinstance(rule, OwnMean)
    return ItemSide(scale, 0.5, *arrays, rule, rng.random(ITEMS), *known, guesses if takes_new else None)


finite = st.floats(-1e100, 1e100)


def test_every_rule_is_here() -> None:
    assert {type(rule) for rule in RULES.values()} == set(FoldIn.__args__)  # type: ignore[attr-defined]


def forged(content: Any, arrays: dict[str, np.ndarray], **metadata: str) -> bytes:
    said = {"format": FORMAT, "content": json.dumps(content)} | metadata
    return bytes(safetensors.numpy.save(arrays, said))


def refused(content: Any, arrays: dict[str, np.ndarray], match: str = ".", **metadata: str) -> None:
    with pytest.raises(ModelInvalid, match=match):
        item_side_from_bytes(forged(content, arrays, **metadata))


def objects(content: Any) -> Iterator[dict[str, Any]]:
    """All objects inside, outermost first."""
    if isinstance(content, dict):
        yield content
        for value in content.values():
            yield from objects(value)


@pytest.mark.parametrize(("name", "full"), [*((name, True) for name in RULES), ("ridge", False)])
def test_every_field_must_be_there_and_no_other(name: str, full: bool) -> None:
    whole, arrays = to_parts(side_with(RULES[name], full))
    assert same(item_side_from_bytes(forged(whole, arrays)), side_with(RULES[name], full))
    for number, one in enumerate(objects(whole)):
        for key in one:
            content = deepcopy(whole)
            del list(objects(content))[number][key]
            refused(content, arrays)
        content = deepcopy(whole)
        list(objects(content))[number]["surprise"] = 1
        refused(content, arrays, "fields too many: surprise")
    for key in arrays:
        refused(whole, {other: array for other, array in arrays.items() if other != key}, "missing")
    refused(whole, arrays | {"more": np.zeros(1)}, "arrays too many: more")
    refused(whole, arrays | {"rule.more": np.zeros(1)}, r"arrays too many: rule\.more")
    for key in arrays:
        for value in (None, 1.0):
            content = deepcopy(whole)
            *outer, field = key.split(".")
            (content[outer[0]] if outer else content)[field] = value
            refused(content, arrays, f"{key} is there twice")


@pytest.mark.parametrize("name", RULES)
def test_every_value_must_have_its_type_and_be_finite(name: str) -> None:
    whole, arrays = to_parts(side_with(RULES[name]))
    wrong: list[Any] = ["3", True, None, [], [1.0], {}, float("nan"), float("inf"), -float("inf")]
    for number, one in enumerate(objects(whole)):
        for key, value in one.items():
            for other in wrong:
                if (key, other) == ("range", None) and name != "clicks":
                    continue  # a scale without a range is one of clicks
                if type(other) is type(value) is not float:
                    continue
                content = deepcopy(whole)
                list(objects(content))[number][key] = other
                refused(content, arrays)


@pytest.mark.parametrize("name", RULES)
def test_every_array_must_have_its_shape_and_type_and_be_finite(name: str) -> None:
    whole, arrays = to_parts(side_with(RULES[name]))
    for key, array in arrays.items():
        for other in (
            array[:-1],
            np.concatenate([array, array[:1]]),
            array[..., None],
            array.astype(np.int64),
            array.astype(np.float16),
            np.where(np.arange(array.size).reshape(array.shape) == 1, np.nan, array),
            np.where(np.arange(array.size).reshape(array.shape) == 1, np.inf, array),
        ):
            if key == "feature_map.weights" and len(other) != len(array):
                continue  # how many features there are is the catalogue's to say
            refused(whole, arrays | {key: np.ascontiguousarray(other)})


@pytest.mark.parametrize(
    "change", [{"gravity": -0.1}, {"factor_penalty": -1.0}, {"count_exponent": -1.0}, {"count_exponent": 1e3}]
)
def test_penalties_below_zero_are_refused(change: dict[str, float]) -> None:
    whole, arrays = to_parts(side_with(RULES["clicks"]))
    refused(whole | {"rule": whole["rule"] | change}, arrays, "penalties")


def test_a_scale_that_is_none_is_refused() -> None:
    whole, arrays = to_parts(side_with(RULES["clicks"]))
    ratings = {"class": "RatingScale", "range": [1.0, 5.0]}
    for upside_down in ([5.0, 1.0], [1.0], [1.0, 1.0], [1.0, 5.0, 9.0], "1 to 5"):
        refused(whole | {"scale": ratings | {"range": upside_down}}, arrays)


def test_bytes_that_are_no_item_side_are_refused() -> None:
    content, arrays = to_parts(side_with(RULES["ridge"]))
    refused(content, arrays, "format is 'discreet item side 1'", format="discreet item side 1")
    for text in ("{", "[" * 100_000, "null", "[]", "3"):
        with pytest.raises(ModelInvalid):
            item_side_from_bytes(bytes(safetensors.numpy.save(arrays, {"format": FORMAT, "content": text})))
    body = item_side_to_bytes(side_with(RULES["ridge"]))
    for wrong in (b"", b"\0" * 8, body[:-1], body + b"\0", body[8:], safetensors.numpy.save(arrays)):
        with pytest.raises(ModelInvalid):
            item_side_from_bytes(wrong)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_one_altered_byte_is_refused_or_is_another_whole_item_side(data: st.DataObject) -> None:
    body = bytearray(item_side_to_bytes(side_with(RULES["own mean"])))
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ModelInvalid):
        item_side_from_bytes(bytes(body)).check()


@dataclass(frozen=True, eq=False)
class Inner:
    name: str
    values: Floats


@dataclass(frozen=True, eq=False)
class Outer:
    number: int
    flag: bool
    parts: tuple[Inner, ...]
    pair: tuple[Floats, float]
    maybe: float | Floats | None


@settings(max_examples=40, deadline=None)
@given(
    st.integers(),
    st.booleans(),
    st.lists(st.tuples(st.text(), st.lists(finite, max_size=3)), max_size=3),
    finite,
    st.one_of(st.none(), finite, st.lists(finite)),
)
def test_whatever_fields_are_called_and_however_deep_they_lie(
    number: int, flag: bool, inner: list[tuple[str, list[float]]], second: float, maybe: Any
) -> None:
    parts = tuple(Inner(name, np.array(values, dtype=np.float64)) for name, values in inner)
    last = np.array(maybe, dtype=np.float64) if isinstance(maybe, list) else maybe
    value = Outer(number, flag, parts, (np.array([second]), second), last)
    content, arrays = to_parts(value)
    back = from_parts(Outer, json.loads(json.dumps(content)), arrays)
    assert same(back, value)
    assert {field.name for field in fields(back)} == set(vars(back))
