"""Who has said what, whatever carried it: messages of a run, signed with Ed25519, which the agreement judges.

A seal binds its content to the agreement (with its nonce: no other run), to the kind of message (no answer passes for
a question) and to the sender. Within a run, round and attempt are in the content, and what comes a second time is
known. Sealed, a message is

    4 bytes mark, 64 bytes signature, 1 byte kind, 1 byte length of the sender's name, the name (none: the server), body
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal, NamedTuple, TypeAlias, get_args

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from discreet.errors import Refused, SettingsInvalid
from discreet.silos.shared.agreement import BaseAgreement
from discreet.silos.shared.masks import joined

__all__ = [
    "MARK",
    "PASS",
    "SERVER",
    "SIGNATURE_BYTES",
    "STATE",
    "Opened",
    "SigningKey",
    "generate_signing_key",
    "holder_of",
    "is_signed",
    "open_seal",
    "signing_public_key",
]

PASS, STATE = "Discreet-Silo", "Discreet-State"
"""Headers: of a request, the silo with its signature; of a response, whether the run is ``open`` or ``finished``."""
MARK = b"dsS2"
SERVER = ""
"""The server's name as a sender: no silo can have it."""
SIGNATURE_BYTES = 64
Kind: TypeAlias = Literal["question", "answer", "model"]
_KINDS: tuple[Kind, ...] = get_args(Kind)
_NAME = len(MARK) + SIGNATURE_BYTES + 2
_DOMAIN, _DOMAIN_OF_PASS = b"discreet seal 2", b"discreet pass 1"


class Opened(NamedTuple):
    """What was under a seal: who sent it, and the message."""

    sender: str
    body: bytes


class SigningKey:
    """One party's key in one run."""

    def __init__(self, agreement: BaseAgreement, name: str, private: bytes) -> None:
        if _key_of(agreement, name) != signing_public_key(private):
            raise Refused(f"the signing key is not that of {name or 'the server'} in the agreement")
        self.agreement, self.name = agreement, name
        self._private = private

    def seal(self, kind: Kind, body: bytes) -> bytes:
        """The message, signed; the same bytes whenever it is sealed again."""
        signature, name = self.sign(*_parts(self.agreement, kind, self.name, body)), self.name.encode()
        return b"".join((MARK, signature, bytes((_KINDS.index(kind), len(name))), name, body))

    def sign(self, *parts: bytes) -> bytes:
        """A signature over all parts, each with its length; the first one says what for."""
        return Ed25519PrivateKey.from_private_bytes(self._private).sign(joined(parts))

    @property
    def shown(self) -> str:
        """What a silo shows with every request, so that nobody else takes its place at the server."""
        return f"{self.name} {self.sign(_DOMAIN_OF_PASS, self.agreement.digest.encode(), self.name.encode()).hex()}"


def open_seal(agreement: BaseAgreement, message: bytes, kind: Kind, sender: str | None = None) -> Opened:
    """What is in a signed message of this run and kind, from this sender if one is named."""
    whole = len(message) >= _NAME and len(message) >= _NAME + message[_NAME - 1]
    if message[:4] != MARK or not whole or message[_NAME - 2] >= len(_KINDS):
        raise Refused("this is not a message that anybody has signed")
    signature, end = message[4 : _NAME - 2], _NAME + message[_NAME - 1]
    found, name, body = (
        _KINDS[message[_NAME - 2]],
        message[_NAME:end].decode("ascii", "replace"),
        message[end:],
    )
    if found != kind:
        raise Refused(f"this is a signed {found} where the {kind} of a run belongs")
    who = name or "the server"
    if not is_signed(_key_of(agreement, name), signature, *_parts(agreement, kind, name, body)):
        raise Refused(
            f"{who} has not signed this for this run: it was altered, belongs to another run, or comes from "
            "somebody else"
        )
    if sender is not None and name != sender:
        raise Refused(f"{who} has sent a {kind} in the name of {sender or 'the server'}")
    return Opened(name, body)


def holder_of(agreement: BaseAgreement, shown: str) -> str:
    """The silo that shows this with its request."""
    name, _, signature = shown.partition(" ")
    if name == SERVER or not re.fullmatch("[0-9a-f]{128}", signature):
        raise Refused("this request does not say which silo of the run it comes from")
    parts = _DOMAIN_OF_PASS, agreement.digest.encode(), name.encode()
    if not is_signed(_key_of(agreement, name), bytes.fromhex(signature), *parts):
        raise Refused(
            f"the pass in the name of {name} is not signed by {name}'s key for this run: compare agreements"
        )
    return name


def generate_signing_key() -> bytes:
    """A party's private signing key, 32 bytes. It never leaves the party."""
    return Ed25519PrivateKey.generate().private_bytes_raw()


def signing_public_key(private: bytes) -> str:
    """The public half, in hex, as the agreement lists it."""
    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw().hex()


def is_signed(public: str, signature: bytes, *parts: bytes) -> bool:
    """Whether whoever has the private half of this key has signed these parts."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, joined(parts))
    except (InvalidSignature, ValueError):
        return False
    return True


def _key_of(agreement: BaseAgreement, name: str) -> str:
    if agreement.signing_keys is None or agreement.server_key is None:
        raise SettingsInvalid(
            "the agreement has no signing keys, so nobody could tell who sent a message; make keys with "
            "'discreet federate key --signing' and a new agreement"
        )
    if name == SERVER:
        return agreement.server_key
    if name not in agreement.signing_keys:
        raise Refused(f"{name} is not in the agreement")
    return agreement.signing_keys[name]


def _parts(agreement: BaseAgreement, kind: str, sender: str, body: bytes) -> tuple[bytes, ...]:
    return (_DOMAIN, agreement.digest.encode(), kind.encode(), sender.encode(), hashlib.sha256(body).digest())
