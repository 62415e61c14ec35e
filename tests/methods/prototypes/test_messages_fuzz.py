"""Malformed, oversized, replayed, wrong-run and other silos' messages by the thousand: refused, nothing changed."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from discreet.catalogue import RatingScale
from discreet.errors import Refused
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.silos.shared.messages import decode_prototypes, encode_prototypes
from tests.methods.prototypes.runs import CATALOGUE, Run, agree, dump
from tests.silos.test_messages_fuzz import MANGLES, cut, flip, lengthen
from tests.sizes import sized

COUNT = sized(2_000, 20_000)
_MAGIC = len(b"discreet-prototypes-2\n")
_STRANGE = (None, -1, 0, 1, 2**63, 10**30, 1e308, True, "", "x" * 70, [], {}, "é", "0" * 64, ["a"] * 200)


class Raw:
    """A message with any bytes in it, to be encoded as if it were one."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def to_bytes(self) -> bytes:
        return self._body


def lie_inside(draw: Random, body: bytes) -> bytes:
    """A header of the message itself that is JSON but says something else."""
    start = _MAGIC + 4
    end = start + struct.unpack("<I", body[_MAGIC:start])[0]
    header = json.loads(body[start:end])
    place = header if draw.random() < 0.6 else header.get("statement", header)
    key = draw.choice(list(place))
    if draw.random() < 0.2:
        place.pop(key)
    else:
        place[draw.choice((key, key, "extra"))] = draw.choice(_STRANGE)
    text = json.dumps(header).encode()
    return body[:_MAGIC] + struct.pack("<I", len(text)) + text + body[end:]


INSIDE: list[Callable[[Random, bytes], bytes]] = [flip, cut, lengthen, lie_inside, lie_inside]


@pytest.fixture(params=["under way", "over"])
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Run]:
    made = Run(tmp_path, agree(), fixed=False)
    made.send("silo-00", "silo-01")
    made.silos["silo-02"].answer()
    if request.param == "over":
        made.send("silo-02")
        made.coordinator.model(CATALOGUE)
    yield made
    made.close()


def wrong(draw: Random, run: Run, message: PrototypeMessage) -> bytes:
    """A well-formed message of the silo that is awaited, which breaks the agreement."""
    statement = message.statement
    assert statement.silos is not None
    twice = statement.silos.model_copy(update={"epsilon_in_two": 200.0})
    promise = {"epsilon": draw.uniform(20.1, 99.0), "silos": twice}
    changes: dict[str, object] = draw.choice(
        (
            {"catalogue": f"{draw.getrandbits(256):064x}"},
            {"scale": RatingScale((0.0, draw.uniform(5.1, 9.0)))},
            {"values": message.values * 50.0 + message.mask * 50.0},
            {"values": np.ones((4, 13)), "mask": np.ones((4, 13), dtype=np.bool_)},
            {"values": np.ones((5, 12)), "mask": np.ones((5, 12), dtype=np.bool_), "weights": np.ones(5)},
            {"statement": statement.model_copy(update=promise)},
            {"statement": statement.model_copy(update={"silos": None})},
        )
    )
    return encode_prototypes(run.agreement, "silo-02", replace(message, **changes))  # type: ignore[arg-type]


def is_second(run: Run, sender: str, body: bytes) -> bool:
    """Whether this is a sound message of a silo that has sent another: a second store's, which is kept."""
    try:
        return decode_prototypes(body, run.agreement)[0] == sender and sender != "silo-02"
    except Refused:
        return False


def test_the_coordinator_takes_nothing_it_does_not_await(run: Run) -> None:
    draw = Random(1)
    messages = {name: silo.answer() for name, silo in run.silos.items()}
    opened = {name: decode_prototypes(message, run.agreement)[1] for name, message in messages.items()}
    elsewhere = [encode_prototypes(agree(), "silo-02", opened["silo-02"]) for _ in range(5)]
    oversized = bytes(run.agreement.most_bytes + 1)
    before, status = dump(run.coordinator), run.coordinator.status()
    refused = 0
    for number in range(COUNT // 2):
        kind = draw.randrange(12)
        sender = "silo-02"
        if kind == 0:  # another silo's message, or one's own from somebody else
            pairs = (
                ("silo-02", messages["silo-00"]),
                ("silo-00", messages["silo-02"]),
                ("zoe", messages["silo-00"]),
            )
            sender, body = draw.choice(pairs)
        elif kind == 1:
            body = draw.choice(elsewhere)
        elif kind == 2:
            body = wrong(draw, run, opened["silo-02"])
        elif kind == 3 and number % 50 == 0:
            body = oversized
        elif kind < 7:  # whole on the outside; from a silo that has sent its own already
            sender = draw.choice(("silo-00", "silo-01"))
            inside = draw.choice(INSIDE)(draw, opened[sender].to_bytes())
            body = encode_prototypes(run.agreement, sender, Raw(inside))  # type: ignore[arg-type]
        else:
            sender = draw.choice(list(messages))
            body = draw.choice(MANGLES)(draw, messages[sender])
        if body == messages.get(sender) or is_second(run, sender, body):
            continue
        with pytest.raises(Refused):
            run.coordinator.receive(sender, body)
        refused += 1
        if number % 500 == 0:
            assert dump(run.coordinator) == before
    assert refused > COUNT // 2 * 0.9
    assert dump(run.coordinator) == before
    assert run.coordinator.status() == status
    run.coordinator.receive("silo-02", messages["silo-02"])
    assert run.coordinator.finished, "none the worse for it"
