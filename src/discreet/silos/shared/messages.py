"""Questions that go down to the silos and answers that come up, as bytes and back.

A question carries the release of the round before it, so that every silo can follow the conversation on its own
and compare what it is asked with what it expects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from discreet.errors import ModelInvalid, Refused
from discreet.methods.question import Question
from discreet.model.wire import KIND, from_parts, to_parts
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.encoding import MOST_HEADER, Header, decode, encode, shapes
from discreet.silos.shared.passed import MOST_PASSED, Passed
from discreet.silos.shared.sealed_shares import most_numbers
from discreet.types import Floats, Words

__all__ = ["ANSWER", "QUESTION", "AnswerMessage", "QuestionMessage", "digest", "max_bytes", "same_run"]


QUESTION, ANSWER = b"dsQ1", b"dsA1"
"""Marks of the two kinds of message."""
_RELEASE, _SHARES = "release:", "shares"
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
    question: dict[str, Any]
    passed: Annotated[
        list[tuple[Count, Count, Roster, Annotated[list[Name], Field(max_length=1000)]]],
        Field(max_length=MOST_PASSED, default_factory=list),
    ]

    @model_serializer(mode="wrap")
    def _as_before(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A run in which nobody may be lost has the messages that it had before anybody could be."""
        written: dict[str, Any] = write(self)
        return {key: value for key, value in written.items() if key != "passed" or value}


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
    passed
        Where silos may be lost: how the last rounds ended, as far back as some silo of the roster was away.
    """

    run: str
    round: int
    attempt: int
    roster: tuple[str, ...]
    question: Question[Any]
    release: Mapping[str, Floats]
    passed: tuple[Passed, ...] = ()

    def encode(self) -> bytes:
        """As bytes."""
        content, parts = to_parts(self.question)
        arrays = parts | {_RELEASE + name: value for name, value in self.release.items()}
        for one in self.passed[:-1]:  # the release of the last one is there already
            arrays |= {_release_of(one.round) + name: value for name, value in one.release.items()}
        header = _QuestionHeader(
            run=self.run,
            round=self.round,
            attempt=self.attempt,
            roster=list(self.roster),
            question=content,
            passed=[(one.round, one.attempt, list(one.roster), list(one.lost)) for one in self.passed],
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
        passed = [
            Passed(round_, attempt, tuple(roster), tuple(lost), release)
            for round_, attempt, roster, lost in header.passed
        ]
        passed[:-1] = [replace(one, release=_taken(arrays, _release_of(one.round))) for one in passed[:-1]]
        question = _read_question(header.question, arrays, agreement)
        roster = tuple(header.roster)
        return cls(header.run, header.round, header.attempt, roster, question, release, tuple(passed))


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
    shares
        Where silos may be lost: for each silo of the roster the shares of this silo's secrets, sealed for it.
    """

    run: str
    round: int
    attempt: int
    silo: str
    question: str
    fixed_noise: bool
    masked: Words
    shares: Words | None = None

    def encode(self) -> bytes:
        """As bytes."""
        arrays = {"masked": self.masked} | ({} if self.shares is None else {_SHARES: self.shares})
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
        shares = arrays.pop(_SHARES, None)
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
            None if shares is None else shares.astype(np.uint64, copy=False),
        )


def digest(body: bytes) -> str:
    """SHA-256 of a message, in hex."""
    return hashlib.sha256(body).hexdigest()


def max_bytes(agreement: Agreement) -> int:
    """Length that no message of the run exceeds."""
    numbers = agreement.half.numbers(agreement.settings, agreement.n_items)
    if agreement.dropouts:
        numbers += MOST_PASSED * numbers + most_numbers(agreement)
    numbers += _FEATURE_NUMBERS * len(agreement.features or ())
    return 8 + MOST_HEADER + 8 * numbers


def _release_of(round_: int) -> str:
    return f"release {round_}:"


def _taken(arrays: dict[str, Floats], prefix: str) -> dict[str, Floats]:
    """The arrays whose names begin so, taken out."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _read_question(
    content: dict[str, Any], arrays: Mapping[str, Floats], agreement: Agreement
) -> Question[Any]:
    """A question of the agreed method back from its parts; refuses parts that are missing or too many."""
    kinds = {kind.__name__: kind for kind in agreement.half.questions}
    kind = kinds.get(str(content.get(KIND)))
    if kind is None:
        raise Refused(f"{agreement.method} asks no such question")
    try:
        question: Question[Any] = from_parts(kind, content, arrays)
    except ModelInvalid as error:
        raise Refused(f"the question cannot be read: {error}") from None
    if not question.mu > 0.0 or not 1 <= len(question.name) <= 100:
        raise Refused("the question has no name, or no cost")
    return question


def same_run(run: str, agreement: Agreement) -> None:
    """Refuse a message of another run."""
    if run != agreement.run_id:
        raise Refused(f"the message belongs to another run or agreement ({run}, not {agreement.run_id})")
