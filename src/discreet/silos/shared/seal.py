"""Signed messages: any message of a run with who sent it, and a signature that the agreement judges.

A seal binds its content to the agreement (with its nonce: no other run), to the kind of message (no answer passes for
a question) and to the sender. Within a run, round and attempt are in the content, and what comes a second time is
known.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from discreet.errors import Refused, SettingsInvalid
from discreet.silos.shared.base_agreement import BaseAgreement
from discreet.silos.shared.encoding import PREFIX, Header, decode, encode
from discreet.silos.shared.signing import SIGNATURE_BYTES, is_signed, sign, signing_public_key

__all__ = ["MARK", "SEAL_BYTES", "SERVER", "Opened", "SigningKey", "check_has_keys", "key_of", "open_seal"]

MARK = b"dsS1"
SEAL_BYTES = 1024
"""More than any seal adds to a message."""
SERVER = ""
"""The server's name as a sender: no silo can have it."""
Kind: TypeAlias = Literal["question", "answer", "model"]
_DOMAIN = b"discreet seal 1"


class _Header(Header):
    kind: Kind
    sender: Annotated[str, Field(max_length=63)]
    signature: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * SIGNATURE_BYTES}}}$")]


@dataclass(frozen=True)
class Opened:
    """What was under a seal: who sent it, and the message."""

    sender: str
    body: bytes


class SigningKey:
    """One party's key in one run.

    Parameters
    ----------
    agreement, name
        What was signed, and as whom; :data:`SERVER` for the server.
    private
        The key whose public half is in the agreement.
    """

    def __init__(self, agreement: BaseAgreement, name: str, private: bytes) -> None:
        if key_of(agreement, name) != signing_public_key(private):
            raise Refused(f"the signing key is not that of {name or 'the server'} in the agreement")
        self.agreement, self.name = agreement, name
        self._private = private

    def seal(self, kind: Kind, body: bytes) -> bytes:
        """The message, signed; the same bytes whenever it is sealed again."""
        signature = sign(self._private, *_parts(self.agreement, kind, self.name, body))
        header = _Header(kind=kind, sender=self.name, signature=signature.hex(), arrays=[])
        return encode(MARK, header, {}, "<u8") + body

    def sign(self, *parts: bytes) -> bytes:
        """A signature over something else than a message; the first part must say what."""
        return sign(self._private, *parts)


def check_has_keys(agreement: BaseAgreement) -> None:
    """Refuse an agreement by which nobody can tell who has sent a message."""
    if agreement.signing_keys is None:
        raise SettingsInvalid(
            "the agreement has no signing keys, so nobody could tell who sent a message; make keys with "
            "'discreet federate key --signing' and a new agreement"
        )


def key_of(agreement: BaseAgreement, name: str) -> str:
    """The public signing key of a silo, or of the server."""
    check_has_keys(agreement)
    assert agreement.signing_keys is not None
    assert agreement.server_key is not None
    if name == SERVER:
        return agreement.server_key
    if name not in agreement.signing_keys:
        raise Refused(f"{name} is not in the agreement")
    return agreement.signing_keys[name]


def open_seal(agreement: BaseAgreement, message: bytes, kind: Kind) -> Opened:
    """What is in a signed message of this run and kind.

    Raises
    ------
    Refused
        For anything that the sender it names has not signed for this run as a message of this kind.
    """
    end = PREFIX + int.from_bytes(message[4:PREFIX], "little")
    if message[:4] != MARK:
        raise Refused("this is not a message that anybody has signed")
    header, _ = decode(message[:end], MARK, _Header, "<u8", SEAL_BYTES)
    body = message[end:]
    if header.kind != kind:
        raise Refused(f"this is a signed {header.kind} where the {kind} of a run belongs")
    who = header.sender or "the server"
    parts = _parts(agreement, header.kind, header.sender, body)
    if not is_signed(key_of(agreement, header.sender), bytes.fromhex(header.signature), *parts):
        raise Refused(
            f"{who} has not signed this for this run: it was altered, belongs to another run, or comes from "
            "somebody else"
        )
    return Opened(header.sender, body)


def _parts(agreement: BaseAgreement, kind: str, sender: str, body: bytes) -> tuple[bytes, ...]:
    content = hashlib.sha256(body).digest()
    return (_DOMAIN, agreement.digest.encode(), kind.encode(), sender.encode(), content)
