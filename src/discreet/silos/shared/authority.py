"""Keys for tests, all made on one machine: a certificate for the server, and everybody's keys, each in its folder.

    keys.json              everybody's public keys, for the agreement
    server/                certificate.pem, key.pem, signing.key
    silos/NAME/            authority.pem (the server's certificate, which vouches for itself), mask.key, signing.key

Whoever made them can pose as any party. In earnest each organisation makes its own keys, and its own authority signs
the certificate.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from discreet.errors import SettingsInvalid
from discreet.private_files import private_folder
from discreet.silos.shared.keys import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    MASK_KEY,
    SIGNING_KEY,
    PublicKeys,
    make_mask_key,
    make_signing_key,
    write_private,
)

__all__ = ["NOTICE_TEXT", "PUBLIC_KEYS", "make_authority"]

PUBLIC_KEYS = "keys.json"
NOTICE_TEXT = """This is a TEST authority. One machine has made, and has seen, every private key in this folder:
whoever holds the folder can pose as the server and as every silo, and can take the masks off every answer.
Use it to try things out. For real data each organisation makes its own keys and certificates.
"""
_DAYS = datetime.timedelta(days=30)
_CLOCKS_DIFFER = datetime.timedelta(minutes=10)
_SILO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")


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
    write_private(server / KEY, key)
    keys: dict[str, dict[str, str]] = {}
    for name in silos:
        own = folder / "silos" / name
        private_folder(own, fresh=True)
        (own / AUTHORITY).write_bytes(certificate)
        keys[name] = {"mask": make_mask_key(own / MASK_KEY), "signing": make_signing_key(own / SIGNING_KEY)}
    public = PublicKeys.model_validate({"silos": keys, "server": make_signing_key(server / SIGNING_KEY)})
    (folder / PUBLIC_KEYS).write_text(public.model_dump_json(indent=1))
    return public


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
