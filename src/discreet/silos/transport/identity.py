"""Who is at the other end: TLS 1.3 with a certificate of the server, and where each party has its keys."""

from __future__ import annotations

import re
import ssl
from pathlib import Path

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
]

AUTHORITY, CERTIFICATE, KEY = "authority.pem", "certificate.pem", "key.pem"
MASK_KEY, SIGNING_KEY = "mask.key", "signing.key"
"""Files of a ``--tls`` folder: whom to trust, who one is, a silo's key for the masks, and one's signing key."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def check_silo_name(name: str) -> str:
    """Refuse a name that cannot be that of a folder."""
    if not _NAME.fullmatch(name):
        raise SettingsInvalid(
            f"{name!r} cannot name a silo: use up to 63 letters, digits, dots, hyphens and underscores, "
            "a letter or digit first"
        )
    return name


def server_context(folder: Path) -> ssl.SSLContext:
    """For the server, which shows its certificate."""
    return _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), folder, CERTIFICATE, KEY)


def client_context(folder: Path) -> ssl.SSLContext:
    """For a silo: the server must have a certificate of the authority for the host name asked for."""
    return _load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), folder, AUTHORITY)


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


def _load(context: ssl.SSLContext, folder: Path, *names: str) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    for name in names:
        if not (folder / name).is_file():
            raise SettingsInvalid(
                f"{folder / name} is missing; a silo's --tls folder holds {AUTHORITY}, the server's {CERTIFICATE} and "
                f"{KEY}, and 'discreet federate authority' makes such folders for tests"
            )
    try:
        if AUTHORITY in names:
            context.load_verify_locations(folder / AUTHORITY)
        else:
            context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    except (ssl.SSLError, ValueError) as error:
        raise SettingsInvalid(f"the certificates in {folder} cannot be used: {error}") from None
    return context
