"""Who is in the next sum: before anybody pays for it, every silo of the roster signs that it will be there.

A silo answers a question only with the signatures of all silos of its roster. So whoever is away when the roll is
called costs the others nothing, and no server can show two silos different rosters of one sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from discreet.errors import Refused
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.encoding import MOST_HEADER, PREFIX, Header, decode, encode
from discreet.silos.shared.messages import Count, Hex16, Name, Roster, digest, same_run
from discreet.silos.shared.seal import SigningKey
from discreet.silos.shared.signing import SIGNATURE_BYTES, is_signed

__all__ = ["CALL", "PRESENT", "PresentMessage", "RollCall", "check_signed"]

CALL, PRESENT = b"dsC1", b"dsH1"
"""Marks of the two kinds of message."""
_DOMAIN = b"discreet roll call 1"
_MOST = PREFIX + MOST_HEADER


class _CallHeader(Header):
    run: Hex16
    round: Count
    attempt: Count
    roster: Roster


class _PresentHeader(_CallHeader):
    silo: Name
    signature: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * SIGNATURE_BYTES}}}$")]


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
        header, _ = decode(body, CALL, _CallHeader, "<f8", _MOST)
        same_run(header.run, agreement)
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
        header, _ = decode(body, PRESENT, _PresentHeader, "<f8", _MOST)
        same_run(header.run, agreement)
        call = RollCall(header.run, header.round, header.attempt, tuple(header.roster))
        _check(agreement, call, header.silo, header.signature)
        return cls(call, header.silo, header.signature)


def check_signed(agreement: Agreement, call: RollCall, signatures: tuple[str, ...]) -> None:
    """Refuse a sum that not all silos of its roster have signed to be in; one process needs no signatures."""
    if agreement.signing_keys is None:
        return
    if len(signatures) != len(call.roster):
        raise Refused(
            f"round {call.round} is asked without a roll call that all of {len(call.roster)} silos have signed"
        )
    for name, signature in zip(call.roster, signatures, strict=True):
        _check(agreement, call, name, signature)


def _check(agreement: Agreement, call: RollCall, name: str, signature: str) -> None:
    keys = agreement.signing_keys or {}
    if name not in keys or name not in call.roster:
        raise Refused(f"{name} is not in this roll call")
    if not is_signed(keys[name], bytes.fromhex(signature), *call.parts(agreement)):
        raise Refused(f"{name} has not signed the roll call of round {call.round} with these silos")
