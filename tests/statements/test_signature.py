"""Signatures: what was signed, by whom, and whether the model is still the same."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from discreet.errors import ModelInvalid, SettingsInvalid
from discreet.model.folder import describe
from discreet.statements import write_document
from discreet.statements.signature import check_signed, fingerprint, read_private_key, read_public_key, sign
from tests.statements.test_stored_models import FIXTURES

MODEL = FIXTURES / "central"
KEY = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def pem(key: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey, password: bytes | None = None) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption(),
    )


def public_pem(key: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form)


def no_password() -> str:
    raise AssertionError("no password should be asked for")


def test_what_was_signed_is_said_and_the_model_is_the_same() -> None:
    document = write_document(MODEL)
    content, signature = sign(document, KEY)
    check = check_signed(content, signature, KEY.public_key(), describe(MODEL))
    assert check.good
    assert check.headline == "user-level differential privacy, epsilon 1 at delta 1e-6 (mu 0.2368)"
    assert (check.issued_on, check.model_digest) == (document.issued_on, document.model.digest)
    assert check.fingerprint == fingerprint(KEY.public_key())
    assert check.differences == ()


def test_what_a_check_says_follows_from_the_statement_and_not_from_the_words_beside_it() -> None:
    document = json.loads(sign(write_document(MODEL), KEY)[0]) | {"headline": "epsilon 0.01"}
    content = json.dumps(document).encode()
    check = check_signed(content, KEY.sign(content), KEY.public_key(), describe(MODEL))
    assert check.good
    assert "epsilon 1 at delta" in check.headline


@pytest.mark.parametrize("place", [0, 40, 200, -2])
def test_one_altered_bit_of_the_statement_is_found(place: int) -> None:
    content, signature = sign(write_document(MODEL), KEY)
    assert check_signed(content, signature, KEY.public_key(), describe(MODEL)).signed
    altered = bytearray(content)
    altered[place] ^= 1
    try:
        check = check_signed(bytes(altered), signature, KEY.public_key(), describe(MODEL))
    except ModelInvalid:
        return  # no statement any more
    assert not check.signed
    assert not check.good


def test_an_altered_signature_and_another_key_are_found() -> None:
    content, signature = sign(write_document(MODEL), KEY)
    other = ed25519.Ed25519PrivateKey.generate()
    assert not check_signed(content, signature, other.public_key(), describe(MODEL)).signed
    for wrong in (b"", signature[:-1], signature[:-1] + bytes([signature[-1] ^ 1]), signature + b"x"):
        assert not check_signed(content, wrong, KEY.public_key(), describe(MODEL)).good


def test_another_model_is_told_apart_by_file() -> None:
    content, signature = sign(write_document(MODEL), KEY)
    check = check_signed(content, signature, KEY.public_key(), describe(FIXTURES / "silos"))
    assert check.signed
    assert not check.good
    assert "statement.json has other bytes than what was signed" in check.differences
    files = describe(MODEL).digests
    fewer = replace(describe(MODEL), digests={key: files[key] for key in list(files)[1:]})
    gone = check_signed(content, signature, KEY.public_key(), fewer)
    assert gone.differences == ("catalogue.json was signed and is not there",)
    more = replace(describe(MODEL), digests={**files, "x": "00"})
    assert check_signed(content, signature, KEY.public_key(), more).differences == (
        "x is there and was not signed",
    )


def test_what_is_no_statement_is_refused_even_if_signed() -> None:
    for content in (
        b"",
        b"{}",
        b"[1]",
        b"\xff",
        json.dumps({"kind": "discreet privacy statement", "version": 2}).encode(),
    ):
        with pytest.raises(ModelInvalid, match="not a statement that this release reads"):
            check_signed(content, KEY.sign(content), KEY.public_key(), describe(MODEL))


def test_a_signed_statement_must_add_up() -> None:
    forged = json.loads(sign(write_document(MODEL), KEY)[0])
    forged["statement"]["epsilon"] = 0.01
    content = json.dumps(forged).encode()
    with pytest.raises(ModelInvalid, match="promise more than mu allows"):
        check_signed(content, KEY.sign(content), KEY.public_key(), describe(MODEL))


def test_keys_are_read_from_pem_also_encrypted_ones(tmp_path: Path) -> None:
    plain, locked, public = tmp_path / "plain.pem", tmp_path / "locked.pem", tmp_path / "public.pem"
    plain.write_bytes(pem(KEY))
    locked.write_bytes(pem(KEY, b"opensesame"))
    public.write_bytes(public_pem(KEY))
    expected = fingerprint(KEY.public_key())
    assert fingerprint(read_private_key(plain, no_password).public_key()) == expected
    assert fingerprint(read_private_key(locked, lambda: "opensesame").public_key()) == expected
    assert fingerprint(read_public_key(public)) == expected
    with pytest.raises(SettingsInvalid, match="its password is another one"):
        read_private_key(locked, lambda: "wrong")


def test_other_keys_are_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    curve = ec.generate_private_key(ec.SECP256R1())
    for content, match in (
        (pem(curve), "another kind"),
        (b"nothing", "not a private key"),
        (public_pem(KEY), "not a private"),
    ):
        file.write_bytes(content)
        with pytest.raises(SettingsInvalid, match=match):
            read_private_key(file, no_password)
    for content, match in (
        (public_pem(curve), "another kind"),
        (b"", "not a public key"),
        (pem(KEY), "not a public key"),
    ):
        file.write_bytes(content)
        with pytest.raises(SettingsInvalid, match=match):
            read_public_key(file)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_openssl_agrees(tmp_path: Path) -> None:
    content, signature = sign(write_document(MODEL), KEY)
    (tmp_path / "s.json").write_bytes(content)
    (tmp_path / "s.json.sig").write_bytes(signature)
    (tmp_path / "public.pem").write_bytes(public_pem(KEY))
    verify = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", "-rawin", "-in", "s.json"]
    done = subprocess.run([*verify, "-sigfile", "s.json.sig"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-in", "public.pem", "-outform", "DER"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    import hashlib

    assert fingerprint(KEY.public_key()) == f"SHA256:{hashlib.sha256(der.stdout).hexdigest()}"
