"""The item side that devices download: written by the learner, read with the standard library, strictly."""

from __future__ import annotations

import json
import random
from array import array
from typing import Any

import numpy as np
import pytest

from discreet.devices.device.item_side import DeviceItemSide, largest_file
from discreet.devices.device.question import QuestionInvalid
from discreet.devices.learner import Estimate, Learner
from discreet.devices.task import DeviceSettings
from tests.devices.support.questions import SEED


def make_side(rank: int = 2, popularity: bool = True) -> DeviceItemSide:
    rng = np.random.default_rng(rank)
    often, offsets, factors = (array("f", rng.normal(size=size)) for size in (5, 5, 5 * rank))
    return DeviceItemSide(
        3, 5, rank, often if popularity else array("f"), offsets, factors, 3.0, 0.0, 2.25, (1.0, 5.0)
    )


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("popularity", [True, False])
def test_there_and_back(rank: int, popularity: bool) -> None:
    side = make_side(rank, popularity)
    assert DeviceItemSide.from_bytes(side.to_bytes()) == side
    assert len({make_side(rank).to_bytes() for _ in range(20)}) == 1


def test_what_devices_download_is_the_learners_item_side() -> None:
    learner = Learner("films", 30, (1.0, 5.0), 8.0, SEED, DeviceSettings(goal="rate", factor_rounds=6))
    rng = np.random.default_rng(1)
    while (asked := learner.question()) is not None:
        learner = learner.after(Estimate(0.2 * rng.standard_normal(asked.coordinates), 1000))
        body, side = learner.released(), learner.item_side()
        read = DeviceItemSide.from_bytes(body)
        assert (read.round, read.centre, read.range) == (learner.round, side.centre, side.scale.range)
        for name in ("offsets", "factors", "popularity"):
            np.testing.assert_array_equal(getattr(read, name), getattr(side, name).ravel())
        assert len(body) <= largest_file(30)
    assert side.rank == 2
    assert side.popularity is not None


def test_numbers_that_single_precision_cannot_hold_are_refused() -> None:
    with pytest.raises(QuestionInvalid, match="finite"):
        DeviceItemSide(1, 2, offsets=array("f", [1.0, float("inf")]))


CHANGES: dict[str, list[Any]] = {
    "centre": [float("nan"), "3", True, 10**400],
    "more": [1],
    "range": [[5.0, 1.0], [1.0], None],
    "offset_penalty": [-1.0],
    "factor_penalty": [0.0],
    "round": [-1, 3.0, 10**30],
    "items": [4, 0],
    "rank": [3, 65],
    "sizes": [[5, 5], [0, 5, 10], [5, 10, 5], [5, 5.0, 10], [-5, 15, 10], [1 << 41, 5, 10], None],
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_header_is_refused(name: str) -> None:
    body = make_side().to_bytes()
    end = 4 + int.from_bytes(body[:4], "little")
    for value in CHANGES[name]:
        text = json.dumps({**json.loads(body[4:end]), name: value}).encode()
        with pytest.raises(QuestionInvalid):
            DeviceItemSide.from_bytes(len(text).to_bytes(4, "little") + text + body[end:])


def test_damaged_item_sides_are_refused() -> None:
    data = make_side().to_bytes()
    for changed in (
        b"",
        data[:3],
        data[:4],
        data[:-1],
        data[:-4],
        data + b"\0",
        data + b"\0\0\0\0",
        b"\xff\xff\xff\xff" + data[4:],
        bytes(4) + data[4:],
        data[:-4] + b"\0\0\xc0\x7f",
        data[:-4] + b"\0\0\x80\x7f",
        data.replace(b'"centre"', b'"items"'),
        (9).to_bytes(4, "little") + b"{" * 9,
        (3000).to_bytes(4, "little") + b'{"a":' * 600,
    ):
        assert changed != data
        with pytest.raises(QuestionInvalid):
            DeviceItemSide.from_bytes(changed)


def test_whatever_is_accepted_is_an_item_side_of_its_size() -> None:
    pick, body = random.Random(7), make_side().to_bytes()
    header = 4 + int.from_bytes(body[:4], "little")
    accepted = 0
    for _ in range(3000):
        changed = bytearray(body)
        for _ in range(pick.randrange(1, 4)):
            place = pick.randrange(len(body)) if pick.random() < 0.3 else pick.randrange(header)
            changed[place] = pick.choice([pick.randrange(256), *b'0123456789"{}[],:. '])
        try:
            read = DeviceItemSide.from_bytes(bytes(changed))
        except QuestionInvalid:
            continue
        accepted += 1
        assert len(read.factors) == read.items * read.rank
    assert accepted > 20
