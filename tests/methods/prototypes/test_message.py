"""Messages survive the way, and nothing else is read."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from discreet.errors import ModelInvalid
from discreet.methods.prototypes.public.message import PrototypeMessage
from reproduction.silos.methods import random_message
from tests.methods.prototypes.worlds import ratings, silo

UP = random_message(ratings(silo(20, 0)), 3, 0)


def test_round_trip() -> None:
    read = PrototypeMessage.from_bytes(UP.to_bytes())
    assert np.allclose(read.values, UP.values)
    assert (read.mask == UP.mask).all()
    assert np.allclose(read.weights, UP.weights)
    assert (read.catalogue, read.scale, read.statement, read.notes) == (
        UP.catalogue, UP.scale, UP.statement, UP.notes,
    )  # fmt: skip
    assert read.to_bytes() == UP.to_bytes()


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_impossible_numbers_are_refused(value: float) -> None:
    whole = bytearray(UP.to_bytes())
    whole[-4:] = struct.pack("<f", value)
    with pytest.raises(ModelInvalid, match="negative or not numbers"):
        PrototypeMessage.from_bytes(bytes(whole))


def test_sizes_are_checked_before_anything_is_made_of_them() -> None:
    huge = UP.to_bytes().replace(b'"n_items":12', b'"n_items":9000000')
    header = len(b"discreet-prototypes-2\n")
    (length,) = struct.unpack("<I", huge[header : header + 4])
    huge = huge[:header] + struct.pack("<I", length + 5) + huge[header + 4 :]
    with pytest.raises(ModelInvalid, match="cut off or too large"):
        PrototypeMessage.from_bytes(huge)


@pytest.mark.parametrize("wrong", [b"[-1.0,5.0]", b"[5.0,0.0]", b"[0.0]"])
def test_a_scale_that_is_none_is_refused(wrong: bytes) -> None:
    whole = UP.to_bytes().replace(b"[0.0,5.0]", wrong)
    start = len(b"discreet-prototypes-2\n")
    (length,) = struct.unpack("<I", whole[start : start + 4])
    size = struct.pack("<I", length + len(wrong) - len(b"[0.0,5.0]"))
    with pytest.raises(ModelInvalid, match=r"header|rating range"):
        PrototypeMessage.from_bytes(whole[:start] + size + whole[start + 4 :])
