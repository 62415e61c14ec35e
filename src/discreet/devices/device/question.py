"""What a device agrees to when it joins a task, and what a server may ask in a round: numbers, read strictly."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

__all__ = [
    "DEVICE_ID_BYTES",
    "KINDS",
    "MAX_COORDINATES",
    "Kind",
    "Question",
    "QuestionInvalid",
    "Terms",
    "TermsInvalid",
    "is_range",
    "is_whole",
    "read_fields",
]

Kind = Literal["popularity", "offsets", "factors"]

KINDS = ("popularity", "offsets", "factors")
DEVICE_ID_BYTES = 16
MAX_ITEMS = 1 << 22
MAX_COORDINATES = 1 << 26
MAX_QUESTION_BYTES = 4096
MAX_ROUNDS = 10_000
MAX_EPSILON = 1000.0

_TASK = re.compile(r"[a-z0-9-]{1,64}\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_TERMS = ("task", "epsilon", "rounds", "items", "range", "catalogue")
_FIELDS = ("task", "round", "kind", "epsilon", "seed", "rotations", "items", "rank", "range", "participants")


class QuestionInvalid(ValueError):
    """A question, or what was released, is not of the agreed form."""


class TermsInvalid(ValueError):
    """Terms are not of the agreed form, or a question is outside of them."""


@dataclass(frozen=True, slots=True)
class Question:
    """One round's question. Everything in it is public.

    ``"popularity"`` asks which items; ``"offsets"``: how they were rated, against the device's own mean; ``"factors"``:
    what is left, times the device's own vector (of ``rank`` numbers, 0 for other kinds). The answer costs ``epsilon``.
    The ``rotations``, a power of two, and everybody's place in them follow from the ``seed``, 64 hexadecimal digits.
    ``participants`` are an index and a count: asked are the devices whose number modulo count is index.
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
        index, count = self.participants
        ranks = (1, 64) if self.kind == "factors" else (0, 0)
        whole = is_whole(self.items, 1, MAX_ITEMS) and is_whole(self.rank, *ranks)
        power = is_whole(self.rotations, 1, 256) and self.rotations.bit_count() == 1
        grouped = is_whole(count, 1, 1 << 20) and is_whole(index, 0, count - 1)
        demands = (
            ("task", _is_task(self.task), "1 to 64 of a-z, 0-9 and -"),
            ("round", is_whole(self.round, 1, (1 << 32) - 1), "a whole number from 1"),
            ("kind", self.kind in KINDS, f"one of {', '.join(KINDS)}"),
            ("epsilon", _is_epsilon(self.epsilon, 20.0), "above 0, at most 20"),
            ("seed", _is_digest(self.seed), "64 digits of 0-9 and a-f"),
            ("rotations", power, "a power of two from 1 to 256"),
            ("items", is_whole(self.items, 1, MAX_ITEMS), f"a whole number from 1 to {MAX_ITEMS}"),
            ("rank", whole, "1 to 64 for factors and 0 for anything else"),
            ("rank", whole and self.coordinates <= MAX_COORDINATES, f"at most {MAX_COORDINATES} / items"),
            ("range", is_range(self.range), "two finite numbers, the lower first"),
            ("participants", grouped, "an index and a larger count, at most 1048576"),
        )
        for name, holds, wanted in demands:
            if not holds:
                raise QuestionInvalid(f"{name} of a question must be {wanted}")

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
        """The question in its one _canonical form."""
        return _canonical(self, _FIELDS)

    @classmethod
    def from_json(cls, text: str | bytes) -> Question:
        """Read what :meth:`to_json` wrote; anything missing, added or out of range is refused."""
        if len(text) > MAX_QUESTION_BYTES:
            raise QuestionInvalid(f"a question has at most {MAX_QUESTION_BYTES} bytes, this one {len(text)}")
        try:
            fields = read_fields(text, _FIELDS, ("epsilon",))
        except ValueError as error:
            raise QuestionInvalid(f"this is not a question: {error}") from error
        groups = fields["participants"]
        if not isinstance(groups, list) or len(groups) != 2:
            raise QuestionInvalid("participants of a question must be a list of two")
        return cls(**{**fields, "participants": tuple(groups)})

    def _salt(self) -> bytes:
        return bytes.fromhex(self.seed) + self.round.to_bytes(4, "big")


@dataclass(frozen=True, slots=True)
class Terms:
    """All that a device will ever tell a task's server.

    ``epsilon`` is the sum of what all answers may cost, ``rounds`` the number of the last round. The digest of the item
    list (:func:`.catalogue.digest`) is there so that everybody means the same item by a number.
    """

    task: str
    epsilon: float
    rounds: int
    items: int
    range: tuple[float, float]
    catalogue: str

    def __post_init__(self) -> None:
        demands = (
            ("task", _is_task(self.task), "1 to 64 of a-z, 0-9 and -"),
            ("epsilon", _is_epsilon(self.epsilon, MAX_EPSILON), f"above 0 and at most {MAX_EPSILON:g}"),
            ("rounds", is_whole(self.rounds, 1, MAX_ROUNDS), f"a whole number from 1 to {MAX_ROUNDS}"),
            ("items", is_whole(self.items, 1, MAX_ITEMS), f"a whole number from 1 to {MAX_ITEMS}"),
            ("range", is_range(self.range), "two finite numbers, the lower first"),
            ("catalogue", _is_digest(self.catalogue), "a digest: 64 digits of 0-9 and a-f"),
        )
        for name, holds, wanted in demands:
            if not holds:
                raise TermsInvalid(f"{name} of the terms must be {wanted}")

    def check(self, question: Question) -> None:
        """Refuse a question outside of the terms."""
        if (question.task, question.items, question.range) != (self.task, self.items, self.range):
            raise TermsInvalid("the question is about another task, catalogue or range than was agreed")
        if question.round > self.rounds:
            raise TermsInvalid(f"the question is of round {question.round}; {self.rounds} were agreed")

    def check_cost(self, question: Question, spent: Fraction) -> None:
        """Refuse a question whose answer costs more than is left; the numbers are compared exactly."""
        if spent + Fraction(question.epsilon) > Fraction(self.epsilon):
            raise TermsInvalid(
                f"the answer would cost {question.epsilon:g}; {float(Fraction(self.epsilon) - spent):g} of the"
                f" agreed {self.epsilon:g} are left"
            )

    def to_json(self) -> str:
        """The terms in their one _canonical form."""
        return _canonical(self, _TERMS)

    @classmethod
    def from_json(cls, text: str | bytes) -> Terms:
        """Read what :meth:`to_json` wrote; anything missing, added or out of range is refused."""
        try:
            return cls(**read_fields(text, _TERMS, ("epsilon",)))
        except ValueError as error:
            raise TermsInvalid(str(error)) from error


def _checked_id(device_id: bytes) -> bytes:
    if not isinstance(device_id, bytes) or len(device_id) != DEVICE_ID_BYTES:
        raise QuestionInvalid(f"a device's pseudonym is {DEVICE_ID_BYTES} bytes")
    return device_id


def _is_task(value: object) -> bool:
    return isinstance(value, str) and _TASK.match(value) is not None


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and _DIGEST.match(value) is not None


def is_whole(value: object, low: int, high: int) -> bool:
    """Whether this is an integer between two others."""
    return type(value) is int and low <= value <= high


def _is_epsilon(value: object, most: float) -> bool:
    return type(value) is float and 0.0 < value <= most


def is_range(span: tuple[object, object]) -> bool:
    """Whether these are two finite floats, the lower first, whose distance is finite as well."""
    low, high = span
    return type(low) is float and type(high) is float and low < high and math.isfinite(high - low)


def _canonical(one: object, names: tuple[str, ...]) -> str:
    fields = {name: getattr(one, name) for name in names}
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def read_fields(text: str | bytes, names: tuple[str, ...], numbers: tuple[str, ...]) -> dict[str, Any]:
    """The fields of one JSON object from a server that is not trusted; a ValueError for anything else.

    There are exactly these ``names``, none of them twice, and no NaN or infinity. ``range`` is two numbers; they and
    the ``numbers`` may be written as whole numbers that a float holds exactly, and become floats.
    """
    try:
        # The module would take bytes for UTF-16 or UTF-32 where they look like it.
        text = text if isinstance(text, str) else str(text, "utf-8")
        fields = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(fields, dict) or set(fields) != set(names):
        raise ValueError(f"it has exactly the fields {', '.join(names)}")
    span = fields["range"]
    if not isinstance(span, list) or len(span) != 2:
        raise ValueError("range must be two numbers")
    fields["range"] = tuple(_float("range", end) for end in span)
    return fields | {name: _float(name, fields[name]) for name in numbers}


def _float(name: str, value: object) -> float:
    if type(value) is float or (type(value) is int and abs(value) < 1 << 53):
        return float(value)
    raise ValueError(f"{name} must be a number")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is given twice")
    return fields
