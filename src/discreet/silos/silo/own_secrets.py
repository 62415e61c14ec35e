"""What a silo draws for one answer where silos may be lost: a mask of its own, and further parts of its noise.

Dealt out in shares with the answer, so that the others can do without this silo. Proof note: ``proofs/lost_silos.md``.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from discreet.silos.shared.pair_keys import PairKeys
from discreet.silos.shared.sealed_shares import ShareLayout, to_words
from discreet.silos.shared.secret_sharing import SECRET_BYTES, deal
from discreet.types import Words

__all__ = ["OwnSecrets"]


@dataclass(frozen=True)
class OwnSecrets:
    """Drawn anew for every answer; nothing of it is kept but the sealed shares.

    Parameters
    ----------
    layout
        Of the roster's shares.
    self_mask
        Seed of the mask that this silo alone adds.
    top_ups
        Secrets of the parts of its noise that may turn out to be too many.
    """

    layout: ShareLayout
    self_mask: bytes
    top_ups: tuple[bytes, ...]

    @classmethod
    def draw(cls, layout: ShareLayout, noise_key: bytes | None) -> OwnSecrets:
        """From the operating system's entropy; where noise must repeat for a test, its parts follow from the key."""

        def part(number: int) -> bytes:
            if noise_key is None:
                return secrets.token_bytes(SECRET_BYTES)
            return hashlib.sha256(noise_key + f"|part {number}".encode()).digest()

        parts = tuple(part(number) for number in range(1, layout.top_ups + 1))
        return cls(layout, secrets.token_bytes(SECRET_BYTES), parts)

    def sealed(self, name: str, pairs: PairKeys) -> Words:
        """Shares of every secret for every silo of the roster, sealed for it."""
        layout = self.layout
        masks = [pairs.mask(peer) for peer in layout.peers(name)]
        dealt = [
            deal(secret, len(layout.roster), layout.threshold)
            for secret in (self.self_mask, *self.top_ups, *masks)
        ]
        rows = (
            pairs.seal(silo, b"".join(shares[place] for shares in dealt))
            for place, silo in enumerate(layout.roster)
        )
        return to_words(rows, layout.words)
