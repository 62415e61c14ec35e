"""What a server may ask in one round: public numbers, read strictly, and the place each device is given in it."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from typing import Any, Literal, cast

from .strict_json import is_number, read_object

__all__ = ["DEVICE_ID_BYTES", "KINDS", "MAX_COORDINATES", "Kind", "Question", "QuestionInvalid"]

Kind = Literal["popularity", "offsets", "factors"]

KINDS = ("popularity", "offsets", "factors")
DEVICE_ID_BYTES = 16
MAX_ITEMS = 1 << 22
MAX_COORDINATES = 1 << 26
MAX_QUESTION_BYTES = 4096

_TASK = re.compile(r"[a-z0-9-]{1,64}\Z")
_SEED = re.compile(r"[0-9a-f]{64}\Z")
_FIELDS = ("task", "round", "kind", "epsilon", "seed", "rotations", "items", "rank", "range", "participants")


class QuestionInvalid(ValueError):
    """A question, or what was released, is not of the agreed form."""


@dataclass(frozen=True, slots=True)
class Question:
    """One round's question. Everything in it is public.

    Parameters
    ----------
    task
        Name of the learning task, 1 to 64 of ``a-z``, ``0-9`` and ``-``.
    round
        Number of the round, from 1.
    kind
        ``"popularity"``: which items. ``"offsets"``: how they were rated, against the device's own mean.
        ``"factors"``: what is left, times the device's own vector.
    epsilon
        What the answer costs the device, above 0 and at most 20.
    seed
        64 hexadecimal digits; the rotations and everybody's place in them follow from it.
    rotations
        Number of public rotations, a power of two up to 256.
    items, rank
        Size of the catalogue; number of factors (0 unless the kind is ``"factors"``).
    range
        Lowest and highest rating.
    participants
        ``(index, count)``: asked are the devices whose number modulo count is index (see :meth:`takes_part`).
    """

    task: str
    round: int
    kind: Kind
    epsilon: float
    seed: str
    rotations: int
    items: int
    rank: int
    range: tuple[float, float]
    participants: tuple[int, int] = (0, 1)

    def __post_init__(self) -> None:
        _check(self)

    @property
    def coordinates(self) -> int:
        """Length of a device's vector before padding."""
        return self.items * max(self.rank, 1)

    @property
    def dimension(self) -> int:
        """Length after padding: the smallest power of two that holds all coordinates."""
        return 1 << (self.coordinates - 1).bit_length()

    def takes_part(self, device_id: bytes) -> bool:
        """Whether this device is asked at all; follows from its pseudonym alone."""
        index, count = self.participants
        name = b"discreet/part/" + self.task.encode() + _checked_id(device_id)
        return int.from_bytes(hashlib.sha256(name).digest(), "big") % count == index

    def place(self, device_id: bytes) -> tuple[int, int]:
        """Rotation and coordinate that this device answers about; follows from public things alone."""
        name = b"discreet/place/" + self._salt() + _checked_id(device_id)
        digest = hashlib.sha256(name).digest()
        rotation = int.from_bytes(digest[:8], "big") % self.rotations
        return rotation, int.from_bytes(digest[8:16], "big") % self.dimension

    def sign_block(self, rotation: int, block: int) -> bytes:
        """256 signs of one rotation, as bits, most significant first; 1 means minus."""
        name = b"discreet/sign/" + self._salt() + rotation.to_bytes(4, "big") + block.to_bytes(4, "big")
        return hashlib.sha256(name).digest()

    def to_json(self) -> str:
        """The question in its one canonical form."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Question:
        """Read what :meth:`to_json` wrote; anything missing, added or out of range is refused."""
        if len(text) > MAX_QUESTION_BYTES:
            raise QuestionInvalid(f"a question has at most {MAX_QUESTION_BYTES} bytes, this one {len(text)}")
        try:
            fields = read_object(text)
        except ValueError as error:
            raise QuestionInvalid(f"a question is one JSON object: {error}") from error
        return cls.from_fields(fields)

    @classmethod
    def from_fields(cls, fields: Any) -> Question:
        """The same from a decoded JSON object."""
        if not isinstance(fields, dict) or set(fields) != set(_FIELDS):
            raise QuestionInvalid(f"a question has exactly the fields {', '.join(_FIELDS)}")
        low, high = _pair(fields, "range")
        index, count = _pair(fields, "participants")
        known = {name: fields[name] for name in _FIELDS[:8]}
        if is_number(known["epsilon"]):
            known["epsilon"] = float(known["epsilon"])
        if is_number(low) and is_number(high):
            low, high = float(low), float(high)
        return cls(**known, range=(low, high), participants=(index, count))

    def _salt(self) -> bytes:
        return bytes.fromhex(self.seed) + self.round.to_bytes(4, "big")


def _check(question: Question) -> None:
    """Refuse a question with any field out of its range."""
    task, seed, rotations, rank = question.task, question.seed, question.rotations, question.rank
    low, high = question.range
    index, count = question.participants
    finite = type(low) is float and type(high) is float and math.isfinite(low) and math.isfinite(high)
    ranks = (1, 64) if question.kind == "factors" else (0, 0)
    power = _whole(rotations, 1, 256) and rotations.bit_count() == 1
    _demand(isinstance(task, str) and _TASK.match(task), "task", "1 to 64 of a-z, 0-9 and -")
    _demand(_whole(question.round, 1, (1 << 32) - 1), "round", "a whole number from 1")
    _demand(question.kind in KINDS, "kind", f"one of {', '.join(KINDS)}")
    affordable = type(question.epsilon) is float and 0.0 < question.epsilon <= 20.0
    _demand(affordable, "epsilon", "above 0, at most 20")
    _demand(isinstance(seed, str) and _SEED.match(seed), "seed", "64 digits of 0-9 and a-f")
    _demand(power, "rotations", "a power of two from 1 to 256")
    _demand(_whole(question.items, 1, MAX_ITEMS), "items", f"a whole number from 1 to {MAX_ITEMS}")
    _demand(_whole(rank, *ranks), "rank", "1 to 64 for factors and 0 for anything else")
    _demand(question.coordinates <= MAX_COORDINATES, "rank", f"at most {MAX_COORDINATES} / items")
    rises = finite and low < high and math.isfinite(high - low)
    _demand(rises, "range", "two finite numbers, the lower first")
    _demand(_whole(count, 1, 1 << 20), "participants", "an index and a count from 1 to 1048576")
    _demand(_whole(index, 0, count - 1), "participants", "an index below the count")


def _demand(holds: object, name: str, wanted: str) -> None:
    if not holds:
        raise QuestionInvalid(f"{name} of a question must be {wanted}")


def _whole(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _pair(fields: dict[str, Any], name: str) -> tuple[Any, Any]:
    value = fields[name]
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise QuestionInvalid(f"{name} of a question must be a list of two")
    return cast("tuple[Any, Any]", tuple(value))


def _checked_id(device_id: bytes) -> bytes:
    if not isinstance(device_id, bytes) or len(device_id) != DEVICE_ID_BYTES:
        raise QuestionInvalid(f"a device's pseudonym is {DEVICE_ID_BYTES} bytes")
    return device_id
