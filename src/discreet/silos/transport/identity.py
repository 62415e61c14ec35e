"""Who is at the other end: TLS 1.3 with certificates on both sides, and the silo's name from its certificate."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import SettingsInvalid

__all__ = [
    "AUTHORITY",
    "CERTIFICATE",
    "KEY",
    "MASK_KEY",
    "SIGNING_KEY",
    "check_silo_name",
    "client_context",
    "read_mask_key",
    "read_signing_key",
    "server_context",
    "silo_name",
]

AUTHORITY, CERTIFICATE, KEY = "authority.pem", "certificate.pem", "key.pem"
MASK_KEY, SIGNING_KEY = "mask.key", "signing.key"
"""Files of a ``--tls`` folder: whom to trust, who one is, a silo's key for the masks, and one's signing key."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def check_silo_name(name: str) -> str:
    """Refuse a name that cannot be one in a certificate and of a folder."""
    if not _NAME.fullmatch(name):
        raise SettingsInvalid(
            f"{name!r} cannot name a silo: use up to 63 letters, digits, dots, hyphens and underscores, "
            "a letter or digit first"
        )
    return name


def server_context(folder: Path) -> ssl.SSLContext:
    """For the server: a client without a certificate of the authority gets no further than the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    context.sslobject_class = _SaysWhy
    context.num_tickets = 0  # no resumption: every connection shows its certificate
    return _load(context, folder)


def client_context(folder: Path) -> ssl.SSLContext:
    """For a silo: the server must have a certificate of the authority for the host name asked for."""
    return _load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), folder)


def silo_name(certificate: Mapping[str, Any] | None) -> str | None:
    """The one common name in a verified certificate (as ``getpeercert`` gives it), or ``None``."""
    names = [
        value for part in (certificate or {}).get("subject", ()) for key, value in part if key == "commonName"
    ]
    return names[0] if len(names) == 1 else None


def read_mask_key(path: Path) -> bytes:
    """A silo's private mask key, 64 hexadecimal digits in a file."""
    return _read_key(path, "mask", "discreet federate key")


def read_signing_key(path: Path) -> bytes:
    """A party's private signing key, 64 hexadecimal digits in a file."""
    return _read_key(path, "signing", "discreet federate key --signing")


def _read_key(path: Path, what: str, command: str) -> bytes:
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise SettingsInvalid(f"there is no {what} key {path}; make one with: {command}") from None
    except ValueError:
        text = ""
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise SettingsInvalid(f"{path} is not a {what} key: it must hold 64 hexadecimal digits")
    return bytes.fromhex(text)


class _SaysWhy(ssl.SSLObject):
    """Lets the alert about a certificate out, so that the other side learns why the handshake failed.

    asyncio sends what is waiting when the handshake wants to read more, and drops it when the handshake fails; so
    the failure is told one step later.
    """

    _failure: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        if self._failure is not None:
            raise self._failure
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            if "CERTIFICATE" not in (error.reason or ""):
                raise
            self._failure = error
            raise ssl.SSLWantReadError from error


def _load(context: ssl.SSLContext, folder: Path) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    for name in (AUTHORITY, CERTIFICATE, KEY):
        if not (folder / name).is_file():
            raise SettingsInvalid(
                f"{folder / name} is missing; a --tls folder holds {AUTHORITY}, {CERTIFICATE} and {KEY}, "
                "and 'discreet federate authority' makes such folders for tests"
            )
    try:
        context.load_verify_locations(folder / AUTHORITY)
        context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    except (ssl.SSLError, ValueError) as error:
        raise SettingsInvalid(f"the certificates in {folder} cannot be used: {error}") from None
    return context
