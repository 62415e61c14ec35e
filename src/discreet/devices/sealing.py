"""Keys of collector and shuffler, and opening what devices sealed to them (HPKE, RFC 9180, by the library)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import SettingsInvalid

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.hpke import Suite

__all__ = ["Opener", "new_secret"]


def new_secret() -> bytes:
    """A private key, 32 bytes."""
    return _library()[1].generate().private_bytes_raw()


class Opener:
    """Holds a private key, gives its public one, and opens what was sealed to it.

    Parameters
    ----------
    secret
        The private key, 32 bytes, from :func:`new_secret`.
    """

    def __init__(self, secret: bytes) -> None:
        self._suite, kind = _library()
        self._key = kind.from_private_bytes(secret)

    @property
    def public_key(self) -> str:
        """The public key, 64 hexadecimal digits."""
        return self._key.public_key().public_bytes_raw().hex()

    def open(self, sealed: bytes, info: bytes) -> bytes | None:
        """The message, or none where this was not sealed to this key and this ``info``, or was altered."""
        from cryptography.exceptions import InvalidTag

        try:
            return self._suite.decrypt(sealed, self._key, info=info)
        except (InvalidTag, ValueError):
            return None


def _library() -> tuple[Suite, type[X25519PrivateKey]]:
    try:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
    except ImportError as error:
        raise SettingsInvalid(
            "a task behind a shuffler needs the package cryptography, 50 or newer; install it with:"
            " pip install 'discreet[shuffle]'"
        ) from error
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305), X25519PrivateKey
