"""Sealing with the standard library, against published vectors and against the library that opens."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from discreet.devices.device.hpke import OVERHEAD, SealInvalid, chacha20_poly1305, seal, x25519
from discreet.devices.sealing import Opener, new_secret


def test_rfc_9180_appendix_a_2_1() -> None:
    """DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305, base mode: the one-time key and shared point."""
    scalar = bytes.fromhex("f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600")
    public = bytes.fromhex("4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a")
    sent = "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a"
    assert seal(public, b"", b"", scalar)[:32].hex() == sent


def test_rfc_7748_the_ladder_over_and_over() -> None:
    k = u = (9).to_bytes(32, "little")
    results = {}
    for number in range(1, 101):
        k, u = x25519(k, u), k
        results[number] = k.hex()
    assert results[1] == "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"
    own, other = os.urandom(32), X25519PrivateKey.generate()
    shared = other.exchange(X25519PrivateKey.from_private_bytes(own).public_key())
    assert x25519(own, other.public_key().public_bytes_raw()) == shared


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 63, 64, 65, 200])
def test_the_cipher_is_the_librarys(length: int) -> None:
    key, nonce, message = os.urandom(32), os.urandom(12), os.urandom(length)
    assert chacha20_poly1305(key, nonce, message) == ChaCha20Poly1305(key).encrypt(nonce, message, None)


@pytest.mark.parametrize("length", [0, 17, 81, 300])
def test_only_the_holder_of_the_key_opens_and_only_as_what_it_was_sealed_for(length: int) -> None:
    mine, other = Opener(new_secret()), Opener(new_secret())
    message = os.urandom(length)
    sealed = seal(bytes.fromhex(mine.public_key), b"films/1", message)
    assert len(sealed) == length + OVERHEAD
    assert mine.open(sealed, b"films/1") == message
    assert mine.open(sealed, b"films/2") is None
    assert other.open(sealed, b"films/1") is None
    for place in range(0, len(sealed), 7):
        altered = bytearray(sealed)
        altered[place] ^= 1
        assert mine.open(bytes(altered), b"films/1") is None
    assert mine.open(b"", b"films/1") is None
    assert mine.open(bytes(len(sealed)), b"films/1") is None


def test_the_same_message_is_never_sealed_alike() -> None:
    key = bytes.fromhex(Opener(new_secret()).public_key)
    assert len({seal(key, b"", b"bit") for _ in range(8)}) == 8


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33), bytes(32), (1).to_bytes(32, "little")])
def test_a_key_that_hides_nothing_is_refused(key: bytes) -> None:
    with pytest.raises(SealInvalid):
        seal(key, b"", b"bit")
