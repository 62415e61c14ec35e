"""Answers that go through a shuffler: it learns who answered and not what, the collector what and not who.

A report is sealed twice. Inside, to the collector: a name for this one report and the bit. Around it, to the shuffler:
the device's pseudonym. Whoever is handed the wrong one can open nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from itertools import count
from typing import Any

from .hpke import KEY_BYTES, OVERHEAD, seal
from .question import DEVICE_ID_BYTES, Question
from .strict_json import read_object
from .terms import Terms, TermsInvalid

__all__ = [
    "ENVELOPE_BYTES",
    "SEALED_BYTES",
    "Shuffled",
    "envelope",
    "envelope_info",
    "read_offer",
    "report_id",
    "report_info",
]

SEALED_BYTES = DEVICE_ID_BYTES + 1 + OVERHEAD
ENVELOPE_BYTES = DEVICE_ID_BYTES + SEALED_BYTES + OVERHEAD
_KEY = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Shuffled:
    """What a device keeps of a task whose answers go through a shuffler.

    Parameters
    ----------
    collector, shuffler
        Their public keys.
    secret
        Drawn by the device and told to nobody: the names of its reports follow from it.
    """

    collector: bytes
    shuffler: bytes
    secret: bytes

    def __post_init__(self) -> None:
        if {len(self.collector), len(self.shuffler), len(self.secret)} != {KEY_BYTES}:
            raise TermsInvalid(f"keys and secret of a shuffled task have {KEY_BYTES} bytes each")


def read_offer(text: bytes, collector_key: str) -> tuple[Terms, bytes, dict[str, Any]]:
    """Terms, the shuffler's key, and all that a shuffler says of a task.

    The collector's key is compared with the one that the person was given, so that neither can slip in another: the
    shuffler one that it can open, the collector one for each device.
    """
    try:
        offer = read_object(text)
    except ValueError as error:
        raise TermsInvalid(f"what a shuffler says of a task is one JSON object: {error}") from error
    keys = (offer.get("collector_key"), offer.get("shuffler_key"), collector_key)
    if not all(isinstance(key, str) and _KEY.match(key) for key in keys):
        raise TermsInvalid("keys of collector and shuffler are 64 digits of 0-9 and a-f")
    if keys[0] != collector_key:
        raise TermsInvalid("the shuffler names another key of the collector than this device was given")
    if keys[0] == keys[1]:
        raise TermsInvalid("collector and shuffler have one key: then they are one, and nothing is hidden")
    return Terms.from_json(json.dumps(offer.get("terms"))), bytes.fromhex(str(keys[1])), offer


def report_id(secret: bytes, question: Question) -> bytes:
    """The name of the one report to this question: nobody can tell it from a random one, or link it to another round's.

    It is among those the question is for, so that a collector can tell the device's groups apart as it does without
    a shuffler. Where the report is counted (:meth:`.Question.place`) follows from it, and from nothing else of the
    device. Drawn by a keyed hash, and not afresh, so that an answer sent again has the same.
    """
    name = b"discreet/report-id/" + question.task.encode() + b"/" + question.round.to_bytes(4, "big")
    for number in count():
        drawn = hmac.digest(secret, name + number.to_bytes(4, "big"), hashlib.sha256)[:DEVICE_ID_BYTES]
        if question.takes_part(drawn):
            return drawn
    raise AssertionError("counting never ends")


def envelope(keys: Shuffled, question: Question, device: bytes, bit: int) -> dict[str, Any]:
    """What is sent to the shuffler; always of the same length within a round."""
    task, number = question.task, question.round
    record = report_id(keys.secret, question) + bytes((bit,))
    sealed = seal(keys.collector, report_info(task, number), record)
    around = seal(keys.shuffler, envelope_info(task, number), device + sealed)
    return {"task": task, "round": number, "envelope": around.hex()}


def report_info(task: str, number: int) -> bytes:
    """What a sealed report belongs to: it cannot be opened as one of another task or round."""
    return b"discreet/report/1/%s/%d" % (task.encode(), number)


def envelope_info(task: str, number: int) -> bytes:
    """The same for the envelope around it."""
    return b"discreet/envelope/1/%s/%d" % (task.encode(), number)
