"""A detached Ed25519 signature over a statement document, and what it says about a model folder.

The signature is made over the bytes of the JSON file, as they are, and is 64 bytes in a file of its own, so that other
tools check it too::

    openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in model.statement.json -sigfile model.statement.json.sig

It says that the holder of the key has issued this document, with the digests of the model's files. Whose key it is must
be known otherwise: compare its fingerprint with one that came by another way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from pydantic import BaseModel, ConfigDict, ValidationError

from discreet.errors import ModelInvalid, SettingsInvalid
from discreet.model.folder import Description
from discreet.privacy.statement import Statement
from discreet.statements.document import Document
from discreet.statements.words import headline

__all__ = ["Check", "check_signed", "fingerprint", "read_private_key", "read_public_key", "sign"]

_MAKE = "Make one with: openssl genpkey -algorithm ed25519 -out key.pem"
_PUBLIC = "Get it from the private key with: openssl pkey -in key.pem -pubout -out public.pem"


@dataclass(frozen=True)
class Check:
    """What was found about a signed statement: whether the key of that fingerprint signed these bytes.

    The headline follows from the document's statement, which must add up; the differences are files of the model folder
    that are not those of the document, in words.
    """

    fingerprint: str
    signed: bool
    headline: str
    issued_on: str
    issued_by: str
    model_digest: str
    differences: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether the key signed it, and the folder is the model it is about."""
        return self.signed and not self.differences


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class _Issued(_Part):
    on: str
    by: str


class _Files(_Part):
    digest: str
    files: dict[str, str]


class _Stated(_Part):
    """What a check reads of a document."""

    kind: Literal["discreet privacy statement"]
    version: Literal[1]
    issued: _Issued
    model: _Files
    statement: Statement


def sign(document: Document, key: Ed25519PrivateKey) -> tuple[bytes, bytes]:
    """The bytes of a document, and their signature."""
    content = document.to_json().encode()
    return content, key.sign(content)


def check_signed(content: bytes, signature: bytes, key: Ed25519PublicKey, model: Description) -> Check:
    """Check a signature, and whether a model folder is the one that was signed for."""
    try:
        key.verify(signature, content)
        signed = True
    except InvalidSignature:
        signed = False
    try:
        stated = _Stated.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise ModelInvalid(
            f"this is not a statement that this release reads ({where}: {first['msg']})"
        ) from None
    return Check(
        fingerprint=fingerprint(key),
        signed=signed,
        headline=headline(stated.statement),
        issued_on=stated.issued.on,
        issued_by=stated.issued.by,
        model_digest=stated.model.digest,
        differences=tuple(_differences(stated.model.files, model.digests)),
    )


def fingerprint(key: Ed25519PublicKey) -> str:
    """SHA-256 of the public key in its standard form (SubjectPublicKeyInfo, DER)."""
    encoded = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"SHA256:{hashlib.sha256(encoded).hexdigest()}"


def read_private_key(path: Path, password: Callable[[], str]) -> Ed25519PrivateKey:
    """A private key from a PEM file; ``password`` is asked where it is encrypted."""
    content = path.read_bytes()
    try:
        try:
            key = load_pem_private_key(content, None)
        except TypeError:  # what the library raises for an encrypted key
            key = load_pem_private_key(content, password().encode())
    except (ValueError, TypeError, UnsupportedAlgorithm, InternalError):
        raise SettingsInvalid(
            f"{path} is not a private key in PEM, or its password is another one. {_MAKE}"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SettingsInvalid(f"{path} is a private key of another kind than Ed25519. {_MAKE}")
    return key


def read_public_key(path: Path) -> Ed25519PublicKey:
    """A public key from a PEM file."""
    try:
        key = load_pem_public_key(path.read_bytes())
    except (ValueError, UnsupportedAlgorithm, InternalError):
        raise SettingsInvalid(f"{path} is not a public key in PEM. {_PUBLIC}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise SettingsInvalid(f"{path} is a public key of another kind than Ed25519. {_PUBLIC}")
    return key


def _differences(stated: dict[str, str], found: dict[str, str]) -> Iterator[str]:
    for name in sorted(stated.keys() | found.keys()):
        if name not in found:
            yield f"{name} was signed and is not there"
        elif name not in stated:
            yield f"{name} is there and was not signed"
        elif stated[name] != found[name]:
            yield f"{name} has other bytes than what was signed"
