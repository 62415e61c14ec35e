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
from discreet.silos.shared.encoding import Header, decode, encode
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
Roster = Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)]
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
    signatures: Annotated[tuple[Signature, ...], Field(max_length=1000)]
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
    """Who is to be in the sum of a question that has not been asked yet."""

    run: str
    round: int
    attempt: int
    roster: tuple[str, ...]

    def encode(self) -> bytes:
        """As bytes; the same for everybody."""
        return encode(CALL, _CallHeader, vars(self), {})

    @classmethod
    def decode(cls, body: bytes, agreement: Agreement) -> RollCall:
        """From bytes; refuses whatever is not a roll call of this run."""
        return cls(**_facts(body, CALL, _CallHeader, agreement))

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
        facts = vars(self.call) | {"silo": self.silo, "signature": self.signature}
        return encode(PRESENT, _PresentHeader, facts, {})

    @classmethod
    def decode(cls, body: bytes, agreement: Agreement) -> PresentMessage:
        """From bytes; refuses whatever this silo has not signed for this run."""
        facts = _facts(body, PRESENT, _PresentHeader, agreement)
        silo, signature = facts.pop("silo"), facts.pop("signature")
        call = RollCall(**facts)
        _check_signature(agreement, call, silo, signature)
        return cls(call, silo, signature)


@dataclass(frozen=True)
class QuestionMessage:
    """What the coordinator asks."""

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
        facts = {name: value for name, value in vars(self).items() if name != "release"}
        return encode(QUESTION, _QuestionHeader, facts | {"question": content}, arrays)

    @classmethod
    def decode(cls, body: bytes, agreement: Agreement) -> QuestionMessage:
        """From bytes; refuses whatever is not a question of this run."""
        facts, arrays = _parts(body, QUESTION, _QuestionHeader, agreement)
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise Refused("the question holds numbers that are none")
        release = _taken(arrays, _RELEASE)
        question = _read_question(facts.pop("question"), arrays, agreement)
        return cls(**facts, question=question, release=release)


@dataclass(frozen=True)
class AnswerMessage:
    """What a silo answers."""

    run: str
    round: int
    attempt: int
    silo: str
    question: str
    fixed_noise: bool
    masked: Words

    def encode(self) -> bytes:
        """As bytes."""
        facts = {name: value for name, value in vars(self).items() if name != "masked"}
        return encode(ANSWER, _AnswerHeader, facts, {"masked": self.masked}, "<u8")

    @classmethod
    def decode(cls, body: bytes, agreement: Agreement) -> AnswerMessage:
        """From bytes; refuses whatever is not an answer of this run."""
        facts, arrays = _parts(body, ANSWER, _AnswerHeader, agreement, "<u8")
        if list(arrays) != ["masked"] or arrays["masked"].ndim != 1:
            raise Refused("an answer holds one masked vector")
        return cls(**facts, masked=arrays["masked"].astype(np.uint64, copy=False))


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


def _parts(
    body: bytes, mark: bytes, header: type[Header], agreement: Agreement, kind: str = "<f8"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the header of a message says, and its arrays; refuses a message of another run."""
    read, arrays, _ = decode(body, mark, header, agreement.most_bytes, kind)
    facts = dict(read)
    del facts["arrays"]
    if facts["run"] != agreement.run_id:
        raise Refused(
            f"the message belongs to another run or agreement ({facts['run']}, not {agreement.run_id})"
        )
    return facts, arrays


def _facts(body: bytes, mark: bytes, header: type[Header], agreement: Agreement) -> dict[str, Any]:
    facts, arrays = _parts(body, mark, header, agreement)
    if arrays:
        raise Refused("the message holds arrays, where none belong")
    return facts
