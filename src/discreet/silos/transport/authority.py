"""A test authority: a certificate for the server, and everybody's keys, each in a folder of its own.

    authority.pem, authority.key   the authority itself
    keys.json                      everybody's public keys, for the agreement
    server/                        for the server: certificate.pem, key.pem, signing.key
    silos/NAME/                    for one silo: authority.pem, mask.key, signing.key

All private keys are made on one machine, so whoever made them can pose as any party. That is for tests; in earnest
each organisation makes its own keys, and its own authority signs the certificates.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from discreet.errors import SettingsInvalid
from discreet.model.directory import replace_file
from discreet.private_files import open_private, private_folder
from discreet.silos.shared import masks as secure_sum
from discreet.silos.shared.signing import generate_signing_key, signing_public_key
from discreet.silos.transport.identity import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    MASK_KEY,
    SIGNING_KEY,
    check_silo_name,
)
from discreet.silos.transport.public_keys import PublicKeys

__all__ = ["PUBLIC_KEYS", "make_authority", "make_mask_key", "make_signing_key"]

PUBLIC_KEYS = "keys.json"
NOTICE = "README.txt"
NOTICE_TEXT = """This is a TEST authority. One machine has made, and has seen, every private key in this folder:
whoever holds the folder can pose as the server and as every silo, and can take the masks off every answer.
Use it to try things out. For real data each organisation makes its own keys and certificates.
"""
_DAYS = 30
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_CLOCKS_DIFFER = datetime.timedelta(minutes=10)


def make_authority(folder: Path, silos: Sequence[str], hosts: Sequence[str] = ()) -> PublicKeys:
    """Fill a new folder with a test authority's files; give everybody's public keys.

    Parameters
    ----------
    folder
        Must not exist yet, or be empty.
    silos
        Names, as in the agreement.
    hosts
        Further names and addresses of the server; localhost and 127.0.0.1 are always among them.
    """
    for name in silos:
        check_silo_name(name)
    if not silos or len(set(silos)) != len(silos):
        raise SettingsInvalid("name at least one silo, and each of them once")
    names = [_host(host) for host in dict.fromkeys(("localhost", "127.0.0.1", *hosts))]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsInvalid(f"{folder} exists already; choose a new folder for the authority")
    private_folder(folder)
    issuer = _Issuer()
    _write(folder / "authority.pem", issuer.certificate_pem())
    _write(folder / "authority.key", _key_pem(issuer.key), private=True)
    _write(folder / NOTICE, NOTICE_TEXT.encode())
    issuer.hand_out(folder / "server", names)
    masks, signing = {}, {}
    for name in silos:
        private_folder(folder / "silos" / name, fresh=True)
        _write(folder / "silos" / name / AUTHORITY, issuer.certificate_pem())
        masks[name] = make_mask_key(folder / "silos" / name / MASK_KEY)
        signing[name] = make_signing_key(folder / "silos" / name / SIGNING_KEY)
    public = PublicKeys(masks, signing, make_signing_key(folder / "server" / SIGNING_KEY))
    _write(folder / PUBLIC_KEYS, json.dumps(public.to_json(), indent=1).encode())
    return public


def make_signing_key(path: Path) -> str:
    """Write a fresh private signing key to a new file, readable by its owner alone; give its public half in hex."""
    private = generate_signing_key()
    if path.exists():
        raise SettingsInvalid(f"{path} exists already; a signing key is never replaced")
    _write(path, private.hex().encode() + b"\n", private=True)
    return signing_public_key(private)


def make_mask_key(path: Path) -> str:
    """Write a fresh private mask key to a new file, readable by its owner alone; give its public half in hex."""
    private = secure_sum.generate_key()
    if path.exists():
        raise SettingsInvalid(f"{path} exists already; a mask key is never replaced")
    _write(path, private.hex().encode() + b"\n", private=True)
    public: str = secure_sum.public_key(private)
    return public


class _Issuer:
    """The authority's key and certificate, and what it signs with them."""

    def __init__(self) -> None:
        self.key = _new_key()
        self._name = _name("discreet TEST authority, not for real data")
        self._certificate = self._sign(self._name, self.key, None)

    def certificate_pem(self) -> bytes:
        """The certificate that everybody trusts."""
        return _certificate_pem(self._certificate)

    def hand_out(self, folder: Path, hosts: Sequence[x509.GeneralName]) -> None:
        """Make a folder with what the server needs for TLS."""
        private_folder(folder, fresh=True)
        key = _new_key()
        _write(folder / CERTIFICATE, _certificate_pem(self._sign(_name("server"), key, hosts)))
        _write(folder / KEY, _key_pem(key), private=True)

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, hosts: Sequence[x509.GeneralName] | None
    ) -> x509.Certificate:
        """A certificate; ``hosts`` is ``None`` for the authority's own."""

        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _CLOCKS_DIFFER)
            .not_valid_after(now + datetime.timedelta(days=_DAYS))
            .add_extension(
                x509.BasicConstraints(ca=hosts is None, path_length=0 if hosts is None else None), True
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), False)
            .add_extension(_usage(authority=hosts is None), True)
        )
        if hosts is not None:
            purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
            builder = builder.add_extension(purpose, False)
            builder = builder.add_extension(x509.SubjectAlternativeName(hosts), False)
        return builder.sign(self.key, hashes.SHA256())


def _usage(*, authority: bool) -> x509.KeyUsage:

    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _new_key() -> ec.EllipticCurvePrivateKey:

    return ec.generate_private_key(ec.SECP256R1())


def _name(common: str) -> x509.Name:

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(host: str) -> x509.GeneralName:

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    *_, last = labels = host.split(".")
    if len(host) > 253 or last.isdigit() or not all(map(_LABEL.fullmatch, labels)):
        raise SettingsInvalid(f"{host!r} is neither a host name nor an address (other letters: as xn--...)")
    return x509.DNSName(host)


def _certificate_pem(certificate: x509.Certificate) -> bytes:

    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write(path: Path, content: bytes, *, private: bool = False) -> None:
    if not private:
        replace_file(path, lambda file: file.write(content), private=False)
        return
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
