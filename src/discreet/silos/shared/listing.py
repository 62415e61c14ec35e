"""Who is in the sum of a round: the server's list, the silos' countersignatures, and the shares that they then reveal.

A list goes down twice: bare, to be countersigned; and with enough countersignatures and the sealed shares of its
members, upon which they reveal what takes off the masks of this sum and of no other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from discreet.errors import Refused
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.encoding import Header, decode, encode, shapes
from discreet.silos.shared.messages import Count, Hex16, Hex32, Name, Roster, digest, max_bytes, same_run
from discreet.types import Words

__all__ = ["LIST", "REPLY", "ListMessage", "ReplyMessage", "Stage"]

LIST, REPLY = b"dsL1", b"dsC1"
"""Marks of the two kinds of message."""
Stage = Literal["countersign", "reveal"]


class _ListHeader(Header):
    run: Hex16
    round: Count
    attempt: Count
    question: Hex32
    members: Roster
    signers: Annotated[list[Name], Field(max_length=1000)]


class _ReplyHeader(Header):
    run: Hex16
    round: Count
    attempt: Count
    silo: Name
    listing: Hex32
    stage: Stage


@dataclass(frozen=True)
class ListMessage:
    """Whose answers are in the sum.

    Parameters
    ----------
    run, round, attempt, question
        Of which question, with its digest.
    members
        Silos whose answers are in.
    signers, signatures
        Who has countersigned the bare list, and for each of them what is for each member; none in the bare list.
    shares
        By dealer and recipient, both members: the shares that the dealer has sealed for the recipient.
    """

    run: str
    round: int
    attempt: int
    question: str
    members: tuple[str, ...]
    signers: tuple[str, ...] = ()
    signatures: Words | None = None
    shares: Words | None = None

    @property
    def bare(self) -> bytes:
        """What is countersigned."""
        return replace(self, signers=(), signatures=None, shares=None).encode()

    @property
    def listing(self) -> str:
        """Digest of what is countersigned."""
        return digest(self.bare)

    def encode(self) -> bytes:
        """As bytes."""
        named = {"signatures": self.signatures, "shares": self.shares}
        arrays = {name: array for name, array in named.items() if array is not None}
        header = _ListHeader(
            run=self.run,
            round=self.round,
            attempt=self.attempt,
            question=self.question,
            members=list(self.members),
            signers=list(self.signers),
            arrays=shapes(arrays),
        )
        return encode(LIST, header, arrays, "<u8")

    @classmethod
    def decode(cls, body: bytes, agreement: Agreement) -> ListMessage:
        """From bytes; refuses whatever is not a list of this run."""
        header, arrays = decode(body, LIST, _ListHeader, "<u8", max_bytes(agreement))
        same_run(header.run, agreement)
        if list(arrays) not in ([], ["signatures", "shares"]) or any(
            one.ndim != 3 for one in arrays.values()
        ):
            raise Refused("a list comes bare, or with countersignatures and shares")
        return cls(
            header.run,
            header.round,
            header.attempt,
            header.question,
            tuple(header.members),
            tuple(header.signers),
            arrays.get("signatures"),
            arrays.get("shares"),
        )


@dataclass(frozen=True)
class ReplyMessage:
    """What a silo says to a list.

    Parameters
    ----------
    run, round, attempt, silo, listing
        Who, and to which list.
    stage
        ``"countersign"``: a signature for each member. ``"reveal"``: its shares of what is revealed, dealer by dealer.
    content
        These, one a row.
    """

    run: str
    round: int
    attempt: int
    silo: str
    listing: str
    stage: Stage
    content: Words

    def encode(self) -> bytes:
        """As bytes."""
        arrays = {"content": self.content}
        header = _ReplyHeader(
            run=self.run,
            round=self.round,
            attempt=self.attempt,
            silo=self.silo,
            listing=self.listing,
            stage=self.stage,
            arrays=shapes(arrays),
        )
        return encode(REPLY, header, arrays, "<u8")

    @classmethod
    def decode(cls, body: bytes, agreement: Agreement) -> ReplyMessage:
        """From bytes; refuses whatever is not a reply of this run."""
        header, arrays = decode(body, REPLY, _ReplyHeader, "<u8", max_bytes(agreement))
        same_run(header.run, agreement)
        if list(arrays) != ["content"] or arrays["content"].ndim != 2:
            raise Refused("a reply to a list holds one table")
        content = arrays["content"]
        return cls(
            header.run, header.round, header.attempt, header.silo, header.listing, header.stage, content
        )
