"""What goes between the coordinator and the silos in a run of sums, as bytes and back.

Before anybody pays for a sum, every silo of the roster signs that it will be there (:class:`RollCall`,
:class:`PresentMessage`). A silo answers a question only with the signatures of all silos of its roster. So whoever is
away when the roll is called costs the others nothing, and no server can show two silos different rosters of one sum.
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
from discreet.silos.shared.encoding import Header, decode, encode, shapes
from discreet.silos.shared.signing import SIGNATURE_BYTES, SigningKey, is_signed
from discreet.types import AnyArray, Floats, Words

__all__ = [
    "CALL",
    "PRESENT",
    "QUESTION",
    "AnswerMessage",
    "PresentMessage",
    "QuestionMessage",
    "RollCall",
    "check_signed",
    "digest",
]


CALL, PRESENT, QUESTION, ANSWER = b"dsC1", b"dsH1", b"dsQ1", b"dsA1"
"""Marks of the kinds of message."""
_RELEASE = "release:"
_DOMAIN = b"discreet roll call 1"

Hex16 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Hex32 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=10_000)]
Name = Annotated[str, Field(min_length=1, max_length=63)]
Roster = Annotated[list[Name], Field(min_length=1, max_length=1000)]
Signature = Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * SIGNATURE_BYTES}}}$")]


class _CallHeader(Header):
    run: Hex16
    round: Count
    attempt: Count
    roster: Roster


class _PresentHeader(_CallHeader):
    silo: Name
    signature: Signature


class _QuestionHeader(_CallHeader):
    signatures: Annotated[list[Signature], Field(max_length=1000)]
    question: dict[str, Any]


class _AnswerHeader(Header):
    run: Hex16
    round: Count
    attempt: Count
    silo: Name
    question: Hex32
    fixed_noise: bool


@dataclass(frozen=True)
class RollCall:
    """Who is to be in the sum of a question that has not been asked yet.

    Parameters
    ----------
    run, round, attempt, roster
        As in the question.
    """

    run: str
    round: int
    attempt: int
    roster: tuple[str, ...]

    def encode(self) -> bytes:
        """As bytes; the same for everybody."""
        header = _CallHeader(
            run=self.run, round=self.round, attempt=self.attempt, roster=list(self.roster), arrays=[]
        )
        return encode(CALL, header, {}, "<f8")

    @classmethod
    def decode(cls, body: bytes, agreement: Agreement) -> RollCall:
        """From bytes; refuses whatever is not a roll call of this run."""
        header, _, _ = decode(body, CALL, _CallHeader, "<f8", agreement.most_bytes)
        _same_run(header.run, agreement)
        return cls(header.run, header.round, header.attempt, tuple(header.roster))

    def parts(self, agreement: Agreement) -> tuple[bytes, ...]:
        """What is signed."""
        return _DOMAIN, agreement.digest.encode(), digest(self.encode()).encode()


@dataclass(frozen=True)
class PresentMessage:
    """A silo's word that it is there."""

    call: RollCall
    silo: str
    signature: str

    @classmethod
    def sign(cls, call: RollCall, key: SigningKey, agreement: Agreement) -> PresentMessage:
        """The same whenever it is signed again."""
        return cls(call, key.name, key.sign(*call.parts(agreement)).hex())

    def encode(self) -> bytes:
        """As bytes."""
        call = self.call
        header = _PresentHeader(
            run=call.run,
            round=call.round,
            attempt=call.attempt,
            roster=list(call.roster),
            silo=self.silo,
            signature=self.signature,
            arrays=[],
        )
        return encode(PRESENT, header, {}, "<f8")

    @classmethod
    def decode(cls, body: bytes, agreement: Agreement) -> PresentMessage:
        """From bytes; refuses whatever this silo has not signed for this run."""
        header, _, _ = decode(body, PRESENT, _PresentHeader, "<f8", agreement.most_bytes)
        _same_run(header.run, agreement)
        call = RollCall(header.run, header.round, header.attempt, tuple(header.roster))
        _check_signature(agreement, call, header.silo, header.signature)
        return cls(call, header.silo, header.signature)


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
        header, arrays, _ = decode(body, QUESTION, _QuestionHeader, "<f8", agreement.most_bytes)
        _same_run(header.run, agreement)
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
        header, arrays, _ = decode(body, ANSWER, _AnswerHeader, "<u8", agreement.most_bytes)
        _same_run(header.run, agreement)
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


def check_signed(agreement: Agreement, call: RollCall, signatures: tuple[str, ...]) -> None:
    """Refuse a sum that not all silos of its roster have signed to be in; one process needs no signatures."""
    if agreement.signing_keys is None:
        return
    if len(signatures) != len(call.roster):
        raise Refused(
            f"round {call.round} is asked without a roll call that all of {len(call.roster)} silos have signed"
        )
    for name, signature in zip(call.roster, signatures, strict=True):
        _check_signature(agreement, call, name, signature)


def _check_signature(agreement: Agreement, call: RollCall, name: str, signature: str) -> None:
    keys = agreement.signing_keys or {}
    if name not in keys or name not in call.roster:
        raise Refused(f"{name} is not in this roll call")
    if not is_signed(keys[name], bytes.fromhex(signature), *call.parts(agreement)):
        raise Refused(f"{name} has not signed the roll call of round {call.round} with these silos")


def digest(body: bytes) -> str:
    """SHA-256 of a message, in hex."""
    return hashlib.sha256(body).hexdigest()


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


def _same_run(run: str, agreement: Agreement) -> None:
    """Refuse a message of another run."""
    if run != agreement.run_id:
        raise Refused(f"the message belongs to another run or agreement ({run}, not {agreement.run_id})")
