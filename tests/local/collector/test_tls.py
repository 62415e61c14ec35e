"""Beyond this machine: encrypted, with a token, and devices that check whom they talk to."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest

from discreet.local.collector.admin import Admin
from discreet.local.device.client import answer_round, join
from discreet.local.device.store import DeviceStore
from discreet.local.device.transport import Connection, Unreachable
from tests.local.collector.running import ORDER, Running

x509 = pytest.importorskip("cryptography.x509")

TOKEN = "token-of-the-collector"


@pytest.fixture
def identity(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "collector")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    certificate, secret = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return certificate, secret


def test_all_addresses_with_tls_and_token(tmp_path: Path, identity: tuple[Path, Path]) -> None:
    certificate, key = identity
    given = {"host": "0.0.0.0", "certificate": certificate, "key": key, "token": TOKEN}
    with Running(tmp_path / "s.sqlite", **given) as server:
        url = f"https://127.0.0.1:{server.port}"
        admin = Admin(url, TOKEN, str(certificate))
        admin.create({**ORDER, "minimum": 1})
        assert admin.tasks() == ["films"]
        with (
            DeviceStore(tmp_path / "me.sqlite") as store,
            Connection(url, authorities=str(certificate)) as connection,
        ):
            join(store, connection, "films", 4.0)
            assert answer_round(store, connection, "films", 0.0).result in ("answered", "not asked")
        with Connection(url) as stranger, pytest.raises(Unreachable, match=r"(?i)certificate"):
            stranger.get("/v1/tasks")  # nobody vouches for it
        with pytest.raises((OSError, ssl.SSLError)):
            server.ask("GET", "/healthz")  # not encrypted
