"""Messages survive the way, and nothing else is read."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ModelInvalid
from discreet.methods.prototypes import GlobalFactors, PrototypeMessage
from discreet.methods.prototypes.settings import FactorSettings
from reproduction.silos.references import central_factors, random_message
from tests.methods.prototypes.worlds import ratings, silo

FUZZ = int(os.environ.get("DISCREET_FUZZ", "300"))
UP = random_message(ratings(silo(20, 0)), 3, 0)
DOWN = central_factors(ratings(silo(20, 0)), FactorSettings(rank=2), 0)


def test_round_trip() -> None:
    read = PrototypeMessage.from_bytes(UP.to_bytes())
    assert np.allclose(read.values, UP.values)
    assert (read.mask == UP.mask).all()
    assert np.allclose(read.weights, UP.weights)
    assert (read.catalogue, read.rating_range, read.statement, read.notes) == (
        UP.catalogue, UP.rating_range, UP.statement, UP.notes,
    )  # fmt: skip
    factors = GlobalFactors.from_bytes(DOWN.to_bytes())
    assert np.allclose(factors.factors, DOWN.factors)
    assert read.to_bytes() == UP.to_bytes()


@pytest.mark.parametrize("kind", [PrototypeMessage, GlobalFactors])
def test_the_other_message_is_refused(kind: type[PrototypeMessage] | type[GlobalFactors]) -> None:
    with pytest.raises(ModelInvalid):
        kind.from_bytes((DOWN if kind is PrototypeMessage else UP).to_bytes())


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_impossible_numbers_are_refused(value: float) -> None:
    whole = bytearray(DOWN.to_bytes())
    whole[-4:] = struct.pack("<f", value)
    with pytest.raises(ModelInvalid, match="negative or not numbers"):
        GlobalFactors.from_bytes(bytes(whole))


def test_sizes_are_checked_before_anything_is_made_of_them() -> None:
    huge = UP.to_bytes().replace(b'"n_items":12', b'"n_items":9000000')
    header = len(b"discreet-prototypes-1\n")
    (length,) = struct.unpack("<I", huge[header : header + 4])
    huge = huge[:header] + struct.pack("<I", length + 5) + huge[header + 4 :]
    with pytest.raises(ModelInvalid, match="cut off or too large"):
        PrototypeMessage.from_bytes(huge)


@settings(max_examples=FUZZ, deadline=None)
@given(st.data())
def test_altered_messages_are_read_or_refused(data: st.DataObject) -> None:
    whole = bytearray((UP if data.draw(st.booleans()) else DOWN).to_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    for text in (bytes(whole), bytes(whole[:cut]), bytes(whole) + b"x"):
        for kind in (PrototypeMessage, GlobalFactors):
            try:
                read = kind.from_bytes(text)
            except ModelInvalid:
                continue
            numbers = read.values if isinstance(read, PrototypeMessage) else read.factors
            assert np.isfinite(numbers).all()
            assert (numbers >= 0).all()
