"""Questions that go down to the silos and answers that come up, as bytes and back.

A question carries the release of the round before it, so that every silo can follow the conversation on its own
and compare what it is asked with what it expects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import Field

from discreet.errors import ModelInvalid, Refused
from discreet.methods.query import Query
from discreet.model.wire import KIND, from_parts, to_parts
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.encoding import MOST_HEADER, Header, decode, encode, shapes
from discreet.types import AnyArray, Floats, Words

__all__ = [
    "ANSWER",
    "QUESTION",
    "AnswerMessage",
    "Count",
    "Hex16",
    "Name",
    "QuestionMessage",
    "Roster",
    "digest",
    "max_bytes",
    "same_run",
]


QUESTION, ANSWER = b"dsQ1", b"dsA1"
"""Marks of the two kinds of message."""
_RELEASE = "release:"
# A model of items with features has weights for each column of their matrix: a few vocabularies of 50,000 words for
# each feature, times the rank.
_FEATURE_NUMBERS = 10_000_000

Hex16 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Hex32 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=10_000)]
Name = Annotated[str, Field(min_length=1, max_length=63)]


Roster = Annotated[list[Name], Field(min_length=1, max_length=1000)]


class _QuestionHeader(Header):
    run: Hex16
    round: Count
    attempt: Count
    roster: Roster
    signatures: Annotated[list[Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]], Field(max_length=1000)]
    question: dict[str, Any]


class _AnswerHeader(Header):
    run: Hex16
    round: Count
    attempt: Count
    silo: Name
    question: Hex32
    fixed_noise: bool


@dataclass(frozen=True)
class QuestionMessage:
    """What the coordinator asks.

    Parameters
    ----------
    run, round, attempt
        Which run, which question of it (0 is the activity), and how often it was asked before without some silo.
    roster
        Silos whose answers go into the sum.
    question
        What is asked, in the method's own form.
    release
        What the round before released; empty in round 0.
    signatures
        Of the roll call, in the order of the roster; none in one process.
    """

    run: str
    round: int
    attempt: int
    roster: tuple[str, ...]
    question: Query[Any]
    release: Mapping[str, Floats]
    signatures: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """As bytes."""
        content, parts = to_parts(self.question)
        arrays = parts | {_RELEASE + name: value for name, value in self.release.items()}
        header = _QuestionHeader(
            run=self.run,
            round=self.round,
            attempt=self.attempt,
            roster=list(self.roster),
            signatures=list(self.signatures),
            question=content,
            arrays=shapes(arrays),
        )
        return encode(QUESTION, header, arrays, "<f8")

    @classmethod
    def decode(cls, body: bytes, agreement: Agreement) -> QuestionMessage:
        """From bytes; refuses whatever is not a question of this run."""
        header, arrays = decode(body, QUESTION, _QuestionHeader, "<f8", max_bytes(agreement))
        same_run(header.run, agreement)
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise Refused("the question holds numbers that are none")
        release = _taken(arrays, _RELEASE)
        question = _read_question(header.question, arrays, agreement)
        roster = tuple(header.roster)
        return cls(
            header.run, header.round, header.attempt, roster, question, release, tuple(header.signatures)
        )


@dataclass(frozen=True)
class AnswerMessage:
    """What a silo answers.

    Parameters
    ----------
    run, round, attempt, silo
        To which question, and who.
    question
        SHA-256 of the question's bytes.
    fixed_noise
        Whether the silo's noise can be drawn again (tests), which voids the statement.
    masked
        The silo's totals, noised where the silos do that, under its mask, modulo 2^64.
    """

    run: str
    round: int
    attempt: int
    silo: str
    question: str
    fixed_noise: bool
    masked: Words

    def encode(self) -> bytes:
        """As bytes."""
        arrays = {"masked": self.masked}
        header = _AnswerHeader(
            run=self.run,
            round=self.round,
            attempt=self.attempt,
            silo=self.silo,
            question=self.question,
            fixed_noise=self.fixed_noise,
            arrays=shapes(arrays),
        )
        return encode(ANSWER, header, arrays, "<u8")

    @classmethod
    def decode(cls, body: bytes, agreement: Agreement) -> AnswerMessage:
        """From bytes; refuses whatever is not an answer of this run."""
        header, arrays = decode(body, ANSWER, _AnswerHeader, "<u8", max_bytes(agreement))
        same_run(header.run, agreement)
        if list(arrays) != ["masked"] or arrays["masked"].ndim != 1:
            raise Refused("an answer holds one masked vector")
        return cls(
            header.run,
            header.round,
            header.attempt,
            header.silo,
            header.question,
            header.fixed_noise,
            arrays["masked"].astype(np.uint64, copy=False),
        )


def digest(body: bytes) -> str:
    """SHA-256 of a message, in hex."""
    return hashlib.sha256(body).hexdigest()


def max_bytes(agreement: Agreement) -> int:
    """Length that no message of the run exceeds."""
    numbers = agreement.half.numbers(agreement.settings, agreement.n_items)
    numbers += _FEATURE_NUMBERS * len(agreement.features or ())
    return 8 + MOST_HEADER + 8 * numbers


def _taken(arrays: dict[str, Floats], prefix: str) -> dict[str, Floats]:
    """The arrays whose names begin so, taken out."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _read_question(content: dict[str, Any], arrays: Mapping[str, Floats], agreement: Agreement) -> Query[Any]:
    """A question of the agreed method back from its parts; refuses parts that are missing or too many."""
    kinds = {kind.__name__: kind for kind in agreement.half.queries}
    kind = kinds.get(str(content.get(KIND)))
    if kind is None:
        raise Refused(f"{agreement.method} asks no such question")
    try:
        question: Query[Any] = from_parts(kind, content, _whole_again(kind, arrays))
    except ModelInvalid as error:
        raise Refused(f"the question cannot be read: {error}") from None
    if not question.mu > 0.0 or not 1 <= len(question.name) <= 100:
        raise Refused("the question has no name, or no cost")
    return question


def _whole_again(kind: type[Query[Any]], arrays: Mapping[str, Floats]) -> dict[str, AnyArray]:
    """Messages carry doubles: an array that a question declares as whole numbers is made so again."""
    hints, read = get_type_hints(kind), dict[str, AnyArray](arrays)
    for name, array in arrays.items():
        of = get_args(get_args(hints.get(name))[1]) if get_origin(hints.get(name)) is np.ndarray else ()
        if of and np.dtype(of[0]).kind == "i":
            bounds = np.iinfo(of[0])
            if not ((array == np.trunc(array)) & (array >= bounds.min) & (array <= bounds.max)).all():
                raise Refused(f"the question's {name} has numbers that are not whole")
            read[name] = array.astype(of[0])
    return read


def same_run(run: str, agreement: Agreement) -> None:
    """Refuse a message of another run."""
    if run != agreement.run_id:
        raise Refused(f"the message belongs to another run or agreement ({run}, not {agreement.run_id})")
