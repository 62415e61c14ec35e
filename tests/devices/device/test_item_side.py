"""The item side that devices download: the one wire format, read with the standard library, strictly."""

from __future__ import annotations

import json
import random
from array import array
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.catalogue import CLICKS, RatingScale
from discreet.devices.device.item_side import DeviceItemSide, ItemSideInvalid, largest_file
from discreet.devices.learner import Estimate, Learner
from discreet.devices.schedule import DeviceSettings
from discreet.errors import ModelInvalid
from discreet.model.fold_in import Clicks, OwnMean, Ridge
from discreet.model.item_side import ItemSide
from discreet.model.wire import item_side_from_bytes, item_side_to_bytes
from tests.devices.support.questions import SEED


def make_side(rank: int = 2, popularity: bool = True) -> ItemSide:
    rng = np.random.default_rng(rank)
    numbers = rng.normal(size=(5, 2 + rank)).astype(np.float32).astype(np.float64)
    return ItemSide(
        RatingScale((1.0, 5.0)),
        3.0,
        numbers[:, 0],
        numbers[:, 2:].copy(),
        Ridge(0.0, 2.25),
        np.abs(numbers[:, 1]) if popularity else None,
    )


def as_bytes(side: ItemSide) -> bytes:
    return item_side_to_bytes(side, precision="single", round=3)


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("popularity", [True, False])
def test_a_device_reads_what_the_package_writes(rank: int, popularity: bool) -> None:
    side = make_side(rank, popularity)
    assert DeviceItemSide.from_bytes(as_bytes(side)) == DeviceItemSide(
        3,
        5,
        rank,
        array("f", side.popularity) if side.popularity is not None else array("f"),
        array("f", side.offsets),
        array("f", side.factors.ravel()),
        3.0,
        0.0,
        2.25,
        (1.0, 5.0),
    )


def test_what_devices_download_is_the_learners_item_side() -> None:
    learner = Learner("films", 30, (1.0, 5.0), 8.0, SEED, DeviceSettings(goal="rate", factor_rounds=6))
    rng = np.random.default_rng(1)
    while (asked := learner.question()) is not None:
        learner = learner.after(Estimate(0.2 * rng.standard_normal(asked.coordinates), 1000))
        body = learner.released()
        read, side = item_side_from_bytes(body), learner.item_side()
        assert (read.scale, read.centre, read.rule) == (side.scale, side.centre, side.rule)
        for name in ("offsets", "factors", "popularity"):
            np.testing.assert_array_equal(getattr(read, name), getattr(side, name))
        assert DeviceItemSide.from_bytes(body).round == learner.round
        assert len(body) <= largest_file(30)
    assert side.rank == 2
    assert side.popularity is not None


def test_the_same_item_side_gives_the_same_bytes() -> None:
    assert len({as_bytes(make_side()) for _ in range(20)}) == 1


def test_single_precision_that_cannot_hold_a_number_is_refused() -> None:
    with pytest.raises(ModelInvalid, match="single precision"):
        as_bytes(replace(make_side(), offsets=np.full(5, 1e300)))


@pytest.mark.parametrize(
    "side",
    [
        replace(make_side(0), scale=CLICKS, rule=Clicks()),
        replace(make_side(), rule=OwnMean(np.ones(5))),
        replace(make_side(), rule=Ridge(0.0, 1.0, count_exponent=0.5)),
        replace(make_side(), scale=CLICKS),
    ],
)
def test_a_device_reads_no_model_that_it_cannot_follow(side: ItemSide) -> None:
    with pytest.raises(ItemSideInvalid):
        DeviceItemSide.from_bytes(as_bytes(side))


def test_a_device_reads_neither_double_precision_nor_a_side_without_a_round() -> None:
    for body in (
        item_side_to_bytes(make_side(), round=3),
        item_side_to_bytes(make_side(), precision="single"),
    ):
        with pytest.raises(ItemSideInvalid):
            DeviceItemSide.from_bytes(body)


def taken_apart(body: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    length = int.from_bytes(body[:8], "little")
    header = json.loads(body[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["content"]), body[8 + length :]


def put_together(header: dict[str, Any], content: Any, data: bytes) -> bytes:
    if header["__metadata__"]:
        header["__metadata__"]["content"] = json.dumps(content)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


CHANGES: list[tuple[str, Any]] = [
    ("content.centre", float("nan")),
    ("content.centre", "3"),
    ("content.centre", True),
    ("content.centre", 10**400),
    ("content.kind", "Model"),
    ("content.more", 1),
    ("content.popularity", None),
    ("content.scale", None),
    ("content.scale.range", [5.0, 1.0]),
    ("content.scale.range", [1.0]),
    ("content.scale.range", None),
    ("content.rule.kind", "Clicks"),
    ("content.rule.offset_penalty", -1.0),
    ("content.rule.factor_penalty", 0.0),
    ("content.rule.count_exponent", 1.0),
    ("content.rule.more", 1.0),
    ("header.__metadata__.format", "discreet item side 1"),
    ("header.__metadata__.round", "-1"),
    ("header.__metadata__.round", "03"),
    ("header.__metadata__.round", "1" * 30),
    ("header.__metadata__.round", 3),
    ("header.__metadata__.more", "x"),
    ("header.__metadata__", None),
    ("header.offsets.dtype", "F64"),
    ("header.offsets.shape", [4]),
    ("header.offsets.shape", [5, 1]),
    ("header.offsets.shape", [-5]),
    ("header.offsets.shape", [5.0]),
    ("header.offsets.shape", []),
    ("header.factors.shape", [2, 5]),
    ("header.factors.shape", [10]),
    ("header.factors.shape", [1 << 41, 0]),
    ("header.popularity.data_offsets", [0, 20]),
    ("header.popularity.data_offsets", [40, 20]),
    ("header.popularity.data_offsets", [-20, 0]),
    ("header.popularity.more", 1),
    ("header.popularity", None),
    ("header.strange", {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}),
]


@pytest.mark.parametrize(("path", "value"), CHANGES)
def test_a_changed_header_is_refused(path: str, value: Any) -> None:
    header, content, data = taken_apart(as_bytes(make_side()))
    place: Any = {"header": header, "content": content}
    *parents, last = path.split(".")
    for name in parents:
        place = place[name]
    place[last] = value
    with pytest.raises(ItemSideInvalid):
        DeviceItemSide.from_bytes(put_together(header, content, data))


def test_damaged_item_sides_are_refused() -> None:
    data = as_bytes(make_side())
    for changed in (
        b"",
        data[:7],
        data[:8],
        data[:-1],
        data[:-4],
        data + b"\0",
        data + b"\0\0\0\0",
        (1 << 63).to_bytes(8, "little") + data[8:],
        (5000).to_bytes(8, "little") + data[8:],
        (0).to_bytes(8, "little") + data[8:],
        data[:-4] + b"\0\0\xc0\x7f",
        data[:-4] + b"\0\0\x80\x7f",
        data.replace(b'"offsets"', b'"factors"'),
        data.replace(b'{"__', b'["__', 1),
        (9).to_bytes(8, "little") + b"{" * 9,
        (3000).to_bytes(8, "little") + b'{"a":' * 600,
    ):
        assert changed != data
        with pytest.raises(ItemSideInvalid):
            DeviceItemSide.from_bytes(changed)


def test_whatever_a_device_accepts_the_package_reads_alike() -> None:
    pick, body = random.Random(7), as_bytes(make_side())
    header = 8 + int.from_bytes(body[:8], "little")
    accepted = 0
    for _ in range(3000):
        changed = bytearray(body)
        for _ in range(pick.randrange(1, 4)):
            place = pick.randrange(len(body)) if pick.random() < 0.3 else pick.randrange(header)
            changed[place] = pick.choice([pick.randrange(256), *b'0123456789"{}[],:. '])
        try:
            mine = DeviceItemSide.from_bytes(bytes(changed))
        except ItemSideInvalid:
            continue
        accepted += 1
        theirs = item_side_from_bytes(bytes(changed))
        assert (mine.items, mine.rank, mine.centre) == (theirs.n_items, theirs.rank, theirs.centre)
        np.testing.assert_array_equal(np.array(mine.offsets, dtype=np.float64), theirs.offsets)
        np.testing.assert_array_equal(np.array(mine.factors, dtype=np.float64), theirs.factors.ravel())
    assert accepted > 20
