"""Where each party has its keys, and whom it trusts at the other end of a line.

The server's ``--tls`` folder holds ``certificate.pem``, ``key.pem`` and ``signing.key``, a silo's ``authority.pem``,
``signing.key`` and ``mask.key``. :func:`make_authority` makes such folders for tests, all on one machine. Whoever made
them can pose as any party. In earnest each organisation makes its own keys, and an authority signs the certificate.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from pydantic import BaseModel, Field, ValidationError

from discreet.errors import SettingsInvalid
from discreet.private_files import open_private, private_folder
from discreet.silos.shared.masks import generate_key, public_key
from discreet.silos.shared.signing import generate_signing_key, signing_public_key

__all__ = [
    "AUTHORITY",
    "CERTIFICATE",
    "KEY",
    "MASK_KEY",
    "NOTICE_TEXT",
    "PUBLIC_KEYS",
    "SIGNING_KEY",
    "PublicKeys",
    "client_context",
    "make_authority",
    "make_mask_key",
    "make_signing_key",
    "read_mask_key",
    "read_signing_key",
    "server_context",
]

AUTHORITY, CERTIFICATE, KEY = "authority.pem", "certificate.pem", "key.pem"
MASK_KEY, SIGNING_KEY = "mask.key", "signing.key"

PUBLIC_KEYS = "keys.json"
NOTICE_TEXT = """This is a TEST authority. One machine has made, and has seen, every private key in this folder:
whoever holds the folder can pose as the server and as every silo, and can take the masks off every answer.
Use it to try things out. For real data each organisation makes its own keys and certificates.
"""
_DAYS = datetime.timedelta(days=30)
_CLOCKS_DIFFER = datetime.timedelta(minutes=10)
_SILO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_MAKE = "make it with 'discreet federate key --signing'"
Hex = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Pair(BaseModel, frozen=True, extra="forbid"):
    mask: Hex | None = None
    signing: Hex


class PublicKeys(BaseModel, frozen=True, extra="forbid"):
    """Everybody's public keys in hex, as they are handed round before an agreement is made.

    Of a silo, by name: X25519 key of the masks, which prototypes do not need, and Ed25519 key; of the server Ed25519.
    """

    silos: dict[str, _Pair] = {}
    server: Hex | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a JSON file: ``{"silos": {NAME: {"mask": KEY, "signing": KEY}}, "server": KEY}``."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise SettingsInvalid(f"there is no file of public keys {path}") from None
        except ValidationError:
            raise SettingsInvalid(
                f"{path} must be a JSON object with silos (by name: mask and signing, 64 hexadecimal digits each) and "
                f"server (64 hexadecimal digits): {_MAKE}"
            ) from None

    def and_typed(self, silos: Sequence[str], server: str | None) -> Self:
        """With silos, written ``NAME=MASK:SIGNING`` or ``NAME=SIGNING``, and with the server's key, which must be."""
        pairs: dict[str, Any] = {name: pair.model_dump() for name, pair in self.silos.items()}
        for text in silos:
            name, _, keys = text.partition("=")
            mask, _, signing = keys.rpartition(":")
            pairs[name] = {"mask": mask or None, "signing": "" if name in pairs else signing}
        try:
            whole = type(self).model_validate({"silos": pairs, "server": server or self.server})
        except ValidationError as error:
            if error.errors()[0]["loc"][0] == "silos":
                raise SettingsInvalid(
                    "--silo takes NAME=MASK:SIGNING (for prototypes NAME=SIGNING) with public keys of 64 hexadecimal "
                    f"digits, and each name once. A silo without a signing key: {_MAKE}"
                ) from None
            whole = self.model_copy(update={"server": None})
        if whole.server is None:
            raise SettingsInvalid(
                f"--server-key takes the server's public signing key, 64 hexadecimal digits; {_MAKE}"
            )
        return whole

    @property
    def masks(self) -> dict[str, str]:
        """Of the silos that have one."""
        return {name: pair.mask for name, pair in self.silos.items() if pair.mask is not None}

    @property
    def signing(self) -> dict[str, str]:
        """Of the silos."""
        return {name: pair.signing for name, pair in self.silos.items()}


def make_mask_key(path: Path) -> str:
    """Write a fresh private mask key to a new file, readable by its owner alone; give its public half in hex."""
    private = generate_key()
    _write_key(path, private, "mask")
    return public_key(private)


def make_signing_key(path: Path) -> str:
    """Write a fresh private signing key to a new file, readable by its owner alone; give its public half in hex."""
    private = generate_signing_key()
    _write_key(path, private, "signing")
    return signing_public_key(private)


def read_mask_key(path: Path) -> bytes:
    """A silo's private mask key, 64 hexadecimal digits in a file."""
    return _read_key(path, "mask", "discreet federate key")


def read_signing_key(path: Path) -> bytes:
    """A party's private signing key, 64 hexadecimal digits in a file."""
    return _read_key(path, "signing", "discreet federate key --signing")


def server_context(folder: Path) -> ssl.SSLContext:
    """TLS 1.3 for the server, which shows its certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with _reading(folder, CERTIFICATE, KEY):
        context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def client_context(folder: Path) -> ssl.SSLContext:
    """TLS 1.3 for a silo: the server must have a certificate of the authority for the host name asked for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with _reading(folder, AUTHORITY):
        context.load_verify_locations(folder / AUTHORITY)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def _write_private(path: Path, content: bytes) -> None:
    """A new file that is on the disk when this returns, readable by its owner alone."""
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def make_authority(folder: Path, silos: Sequence[str], hosts: Sequence[str] = ()) -> PublicKeys:
    """Fill a new folder with a test authority's files; give everybody's public keys."""
    for name in silos:
        if not _SILO.fullmatch(name):
            raise SettingsInvalid(
                f"{name!r} cannot name a silo: use up to 63 letters, digits, dots, hyphens and underscores, "
                "a letter or digit first"
            )
    if not silos or len(set(silos)) != len(silos):
        raise SettingsInvalid("name at least one silo, and each of them once")
    names = [_host(host) for host in dict.fromkeys(("localhost", "127.0.0.1", *hosts))]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsInvalid(f"{folder} exists already; choose a new folder for the authority")
    private_folder(folder)
    (folder / "README.txt").write_text(NOTICE_TEXT)
    server = folder / "server"
    private_folder(server, fresh=True)
    certificate, key = _certificate(names)
    (server / CERTIFICATE).write_bytes(certificate)
    _write_private(server / KEY, key)
    keys: dict[str, dict[str, str]] = {}
    for name in silos:
        own = folder / "silos" / name
        private_folder(own, fresh=True)
        (own / AUTHORITY).write_bytes(certificate)
        keys[name] = {"mask": make_mask_key(own / MASK_KEY), "signing": make_signing_key(own / SIGNING_KEY)}
    public = PublicKeys.model_validate({"silos": keys, "server": make_signing_key(server / SIGNING_KEY)})
    (folder / PUBLIC_KEYS).write_text(public.model_dump_json(indent=1))
    return public


def _write_key(path: Path, private: bytes, what: str) -> None:
    if path.exists():
        raise SettingsInvalid(f"{path} exists already; a {what} key is never replaced")
    _write_private(path, private.hex().encode() + b"\n")


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


@contextmanager
def _reading(folder: Path, *names: str) -> Iterator[None]:
    for name in names:
        if not (folder / name).is_file():
            raise SettingsInvalid(
                f"{folder / name} is missing; a silo's --tls folder holds {AUTHORITY}, the server's {CERTIFICATE} and "
                f"{KEY}, and 'discreet federate authority' makes such folders for tests"
            )
    try:
        yield
    except (ssl.SSLError, ValueError) as error:
        raise SettingsInvalid(f"the certificates in {folder} cannot be used: {error}") from None


def _certificate(hosts: Sequence[x509.GeneralName]) -> tuple[bytes, bytes]:
    """A certificate of the server that vouches for itself, and its private key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "discreet TEST server, not for real data")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + _DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .add_extension(x509.SubjectAlternativeName(hosts), False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(Encoding.PEM), private


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    *_, last = labels = host.split(".")
    if len(host) > 253 or last.isdigit() or not all(map(_LABEL.fullmatch, labels)):
        raise SettingsInvalid(f"{host!r} is neither a host name nor an address (other letters: as xn--...)")
    return x509.DNSName(host)
