"""Everybody's public keys, as they are handed round before an agreement is made."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import SettingsInvalid

__all__ = ["PublicKeys"]

_KEY = re.compile("[0-9a-f]{64}")
_MAKE = "make it with 'discreet federate key --signing'"


@dataclass(frozen=True)
class PublicKeys:
    """Public keys in hex.

    Parameters
    ----------
    masks, signing
        X25519 and Ed25519 keys of the silos, by name. Prototypes need no masks.
    server
        Ed25519 key of the server; empty where it is not known yet.
    """

    masks: dict[str, str] = field(default_factory=dict)
    signing: dict[str, str] = field(default_factory=dict)
    server: str = ""

    @classmethod
    def read(cls, path: Path) -> PublicKeys:
        """From a JSON file: ``{"silos": {NAME: {"mask": KEY, "signing": KEY}}, "server": KEY}``."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SettingsInvalid(f"there is no file of public keys {path}") from None
        except (ValueError, RecursionError) as error:
            raise SettingsInvalid(f"{path} is not valid JSON: {error}") from None
        silos = content.get("silos") if isinstance(content, dict) else None
        if not isinstance(silos, dict) or not all(map(_is_pair, silos.values())):
            raise SettingsInvalid(
                f"{path} must be an object with silos (by name: mask and signing, 64 hexadecimal digits each) and "
                f"server (64 hexadecimal digits): {_MAKE}"
            )
        server = content.get("server", "")
        if server and not _is_key(server):
            raise SettingsInvalid(f"{path}: the server's signing key must have 64 hexadecimal digits")
        return cls(
            {name: pair["mask"] for name, pair in silos.items() if "mask" in pair},
            {name: pair["signing"] for name, pair in silos.items()},
            server,
        )

    def with_pair(self, text: str, *, masks: bool) -> PublicKeys:
        """With one more silo, written ``NAME=MASK:SIGNING``, or ``NAME=SIGNING`` where there are no ``masks``."""
        name, _, keys = text.partition("=")
        mask, colon, signing = keys.rpartition(":")
        masked = _is_key(mask) if colon else not masks
        if name in self.signing or not _is_key(signing) or not masked:
            form = "NAME=MASK:SIGNING" if masks else "NAME=SIGNING"
            raise SettingsInvalid(
                f"--silo takes {form} with public keys of 64 hexadecimal digits, and each name once; not {text!r}. A "
                f"silo without a signing key: {_MAKE}"
            )
        added = {name: mask} if mask else {}
        return PublicKeys(self.masks | added, self.signing | {name: signing}, self.server)

    def with_server(self, key: str | None) -> PublicKeys:
        """With the server's key, where one was given; refuses to be without."""
        server = key or self.server
        if not _is_key(server):
            raise SettingsInvalid(
                f"--server-key takes the server's public signing key, 64 hexadecimal digits; {_MAKE}"
            )
        return PublicKeys(self.masks, self.signing, server)

    def to_json(self) -> dict[str, Any]:
        """What :meth:`read` reads."""
        pairs = {
            name: ({"mask": self.masks[name]} if name in self.masks else {}) | {"signing": key}
            for name, key in self.signing.items()
        }
        return {"silos": pairs, "server": self.server}


def _is_key(value: object) -> bool:
    return isinstance(value, str) and _KEY.fullmatch(value) is not None


def _is_pair(value: object) -> bool:
    return (
        isinstance(value, dict)
        and "signing" in value
        and set(value) <= {"mask", "signing"}
        and all(map(_is_key, value.values()))
    )
