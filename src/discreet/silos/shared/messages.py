"""What goes between the coordinator and the silos, as bytes and back. Nothing is ever unpickled.

Before anybody pays for a sum, every silo of the roster signs that it will be there (:class:`RollCall`,
:class:`PresentMessage`). A silo answers a question only with the signatures of all silos of its roster. So whoever is
away when the roll is called costs the others nothing, and no server can show two silos different rosters of one sum.
A question carries the release of the round before it, so that every silo can follow the protocol on its own
and compare what it is asked with what it expects. Prototypes need one message from each silo and no question.

As bytes, a message is

    4 bytes   mark of the kind of message
    4 bytes   length of the header, little endian
    header    JSON of bounded size; lists name and shape of every array in order
    arrays    8 bytes a number, little endian, one after another; then nothing, or the body of a model or prototypes
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import ModelInvalid, Refused
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.public.query import Query
from discreet.model.wire import KIND, from_parts, to_parts
from discreet.silos.shared.agreement import Agreement, Name, PrototypeAgreement
from discreet.silos.shared.signing import SIGNATURE_BYTES, SigningKey, is_signed
from discreet.types import AnyArray, Floats, Words

__all__ = [
    "CALL",
    "PRESENT",
    "QUESTION",
    "AnswerMessage",
    "Header",
    "PresentMessage",
    "QuestionMessage",
    "RollCall",
    "check_signed",
    "decode",
    "decode_prototypes",
    "digest",
    "encode",
    "encode_prototypes",
]

_MOST_HEADER = 1 << 20
_PREFIX = 8
CALL, PRESENT, QUESTION, ANSWER, PROTOTYPES = b"dsC1", b"dsH1", b"dsQ1", b"dsA1", b"dsP1"
"""Marks of the kinds of message."""
_RELEASE = "release:"
_DOMAIN = b"discreet roll call 1"
# Budgets are sums of shares, and values travel as 32-bit numbers: the last bits may differ.
_ROOM = 1.0 + 1e-6

Hex16 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Hex32 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=10_000)]
Roster = Annotated[tuple[Name, ...], Field(min_length=1, max_length=1000)]
Signature = Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * SIGNATURE_BYTES}}}$")]
_Array = npt.NDArray[Any]


class Header(BaseModel):
    """What every header has: which arrays follow. Frozen, strict, nothing unknown, no infinities."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    arrays: Annotated[
        list[
            tuple[
                Annotated[str, Field(max_length=64)],
                Annotated[list[Annotated[int, Field(ge=0, lt=2**40)]], Field(max_length=3)],
            ]
        ],
        Field(max_length=256),
    ]


H = TypeVar("H", bound=Header)


def encode(
    mark: bytes,
    header: type[Header],
    facts: Mapping[str, Any],
    arrays: Mapping[str, _Array],
    kind: str = "<f8",
) -> bytes:
    """The message. ``kind`` is ``"<f8"`` or ``"<u8"``."""
    listed = [(name, list(array.shape)) for name, array in arrays.items()]
    text = header(**facts, arrays=listed).model_dump_json().encode()
    parts = [mark, len(text).to_bytes(4, "little"), text]
    parts += [np.ascontiguousarray(array, dtype=kind).tobytes() for array in arrays.values()]
    return b"".join(parts)


def decode(
    body: bytes, mark: bytes, header_type: type[H], most: int, kind: str = "<f8", *, rest: bool = False
) -> tuple[H, dict[str, _Array], bytes]:
    """Header and arrays of a message of at most ``most`` bytes, and what follows them, if something may (``rest``)."""
    if len(body) > most:
        raise Refused(f"a message of {len(body):,} bytes is larger than any in this run ({most:,})")
    if body[:4] != mark:
        raise Refused("this is not a message of the expected kind")
    end = _PREFIX + int.from_bytes(body[4:_PREFIX], "little")
    if not _PREFIX < end <= min(len(body), _PREFIX + _MOST_HEADER):
        raise Refused("the message is cut short or its header is too large")
    try:
        header = header_type.model_validate_json(body[_PREFIX:end])
    except (ValidationError, RecursionError):
        raise Refused("the message's header is not what this version of discreet writes") from None
    sizes = [math.prod(shape) for _, shape in header.arrays]
    names = [name for name, _ in header.arrays]
    over = len(body) - end - 8 * sum(sizes)
    if over < 0 or (over > 0 and not rest) or len(set(names)) < len(names):
        raise Refused("the message's arrays do not match its header")
    arrays, start = {}, end
    for (name, shape), size in zip(header.arrays, sizes, strict=True):
        # Copied: a view would be read-only and out of step with the processor's words.
        flat = np.frombuffer(body, dtype=kind, count=size, offset=start)
        try:
            arrays[name] = flat.reshape(shape).copy()
        except ValueError:  # nothing in it, and more places than can be counted
            raise Refused("the message's arrays do not match its header") from None
        start += 8 * size
    return header, arrays, body[start:]


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


class _PrototypesHeader(Header):
    run: str
    silo: str
    digest: str


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


def encode_prototypes(agreement: PrototypeAgreement, silo: str, message: PrototypeMessage) -> bytes:
    """The one message of a silo."""
    content = message.to_bytes()
    facts = {"run": agreement.run_id, "silo": silo, "digest": digest(content)}
    return encode(PROTOTYPES, _PrototypesHeader, facts, {}) + content


def decode_prototypes(body: bytes, agreement: PrototypeAgreement) -> tuple[str, PrototypeMessage]:
    """Whose message it is, and what is in it."""
    header, _, content = decode(body, PROTOTYPES, _PrototypesHeader, agreement.most_bytes, rest=True)
    if header.run != agreement.run_id:
        raise Refused("the message belongs to another run; compare agreements")
    facts = header.model_dump(exclude={"arrays"})
    if header.digest != digest(content) or body != encode(PROTOTYPES, _PrototypesHeader, facts, {}) + content:
        raise Refused("the message was damaged on its way")
    try:
        message = PrototypeMessage.from_bytes(content)
    except ModelInvalid as error:
        raise Refused(str(error)) from None
    _check_prototypes(message, agreement)
    return header.silo, message


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


def _check_prototypes(message: PrototypeMessage, agreement: PrototypeAgreement) -> None:
    if (message.catalogue, message.scale) != (agreement.catalogue, agreement.scale):
        raise Refused("the prototypes are over another catalogue or scale than agreed on")
    prototypes, items = message.values.shape
    if prototypes > agreement.settings.most_prototypes or items != agreement.n_items:
        raise Refused("there are more prototypes than agreed on, or they have more or fewer items")
    if (message.evidence is not None) != (agreement.settings.rows(agreement.explicit) == "level"):
        raise Refused("the prototypes are of another kind than agreed on: of ratings, or of deviations")
    if message.values.max(initial=0.0) > agreement.scale.bounds[1] * _ROOM:
        raise Refused("the prototypes leave the agreed scale")
    if message.statement.private and message.statement.silos is None:
        raise Refused("the prototypes do not say what a user in two silos pays")
    own = message.statement.own if message.statement.private else None
    spent = (0.0, 0.0) if own is None else (own.epsilon, own.delta)
    if spent[0] > agreement.epsilon * _ROOM or spent[1] > agreement.delta * _ROOM:
        raise Refused("the prototypes have cost their users more than was agreed on")
