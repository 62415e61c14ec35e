"""Which secrets a silo deals out with an answer, in what order, and which of them are revealed in the end.

For a roster of n silos of which d may be lost: the seed of its own mask, the secrets of d parts of its noise, and the
keys of its masks with the n - 1 others. Any n - d of the n shares of a secret give it. Proof note:
``proofs/lost_silos.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.pair_keys import MAC_BYTES, SEALED_EXTRA
from discreet.silos.shared.secret_sharing import SHARE_BYTES
from discreet.types import Words

__all__ = ["MAC_WORDS", "SHARE_WORDS", "ShareLayout", "from_words", "most_numbers", "to_words"]

MAC_WORDS = MAC_BYTES // 8
SHARE_WORDS = -(-SHARE_BYTES // 8)


class ShareLayout:
    """The secrets of every silo of a roster.

    Parameters
    ----------
    agreement, roster
        What was agreed, and the silos of the question.

    Attributes
    ----------
    threshold
        Shares that give a secret; also how many silos must have answered, countersigned and revealed.
    top_ups
        Parts of the noise beyond the share itself.
    count
        Secrets of one silo.
    size
        Bytes of its shares of them, for one other silo, sealed.
    """

    def __init__(self, agreement: Agreement, roster: Sequence[str]) -> None:
        self.roster = tuple(roster)
        self.threshold = agreement.threshold(len(roster))
        self.top_ups = agreement.dropouts_among(len(roster)) if agreement.noise == "shares" else 0
        self.count = self.top_ups + len(roster)
        self.size = SEALED_EXTRA + SHARE_BYTES * self.count

    @property
    def words(self) -> int:
        """Numbers that sealed shares take in a message."""
        return -(-self.size // 8)

    def place(self, silo: str) -> int:
        """Where a silo's shares are taken."""
        return self.roster.index(silo) + 1

    def peers(self, dealer: str) -> list[str]:
        """Silos that the dealer has a mask with, in the order of these secrets."""
        return [name for name in self.roster if name != dealer]

    def revealed(self, dealer: str, members: Sequence[str]) -> list[int]:
        """Which secrets of a dealer are revealed where the sum is over these members, of which it is one.

        Its own mask's seed; the parts of the noise that are too many for so few losses; its masks with the lost.
        """
        lost = len(self.roster) - len(members)
        surplus = range(1 + lost, 1 + self.top_ups)
        first = 1 + self.top_ups
        with_lost = [first + k for k, peer in enumerate(self.peers(dealer)) if peer not in members]
        return [0, *surplus, *with_lost]


def most_numbers(agreement: Agreement) -> int:
    """Numbers that no message has more than beside its vector."""
    silos = len(agreement.silos)
    return silos * silos * (ShareLayout(agreement, agreement.roster).words + MAC_WORDS)


def to_words(rows: Iterable[bytes], words: int) -> Words:
    """Rows of bytes, filled up with zeros, as numbers of a message."""
    return np.array(
        [np.frombuffer(row.ljust(8 * words, b"\0"), dtype="<u8") for row in rows], dtype=np.uint64
    )


def from_words(row: Words, size: int) -> bytes:
    """The bytes of a row back."""
    return row.astype("<u8", copy=False).tobytes()[:size]
