"""Noise in shares: each silo adds a part, and any ``honest`` parts together are all the noise there must be.

Proof note: ``proofs/shares.md``. The server sees the sum of the shares to the last integer, before any coarse
rounding, so a share is finer than a single normal number of 52 bits could make it.
"""

from __future__ import annotations

import math

from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.noise import SECRET_BYTES, Noise, own_noise
from discreet.types import Floats

__all__ = ["RehearsalNoise", "ShareNoise"]


# Scale of a second, independent normal number relative to the first: it fills the gaps between the values that
# the first can take.
_FINE = 2.0**-11
# Above this the sum of a total and its noise might leave the integers that float64 holds.
_LARGEST = 2.0**46


@own_noise
class ShareNoise(Noise):
    """One silo's part of the noise.

    Parameters
    ----------
    honest
        How many parts must suffice.
    key
        Leave it out: see :class:`discreet.privacy.gaussian.noise.Noise`.

    Notes
    -----
    **Privacy**. A share has scale sigma / sqrt(honest), so the shares of any ``honest`` silos sum to scale sigma;
    whatever the others add or leave out is independent of them.
    """

    def __init__(self, honest: int, *, key: bytes | None = None) -> None:
        super().__init__(key=key)
        if honest < 1:
            raise SettingsInvalid(f"at least one silo must be honest, got {honest}")
        self._honest = honest

    @classmethod
    def keyed(cls, honest: int, secret: bytes) -> ShareNoise:
        """The share of one answer, from a secret that belongs to this answer alone (``proofs/keyed.md``)."""
        if len(secret) != SECRET_BYTES:
            raise SettingsInvalid(f"a secret has {SECRET_BYTES} bytes, not {len(secret)}")
        share = cls(honest)
        share._secret = secret
        return share

    def integers(self, sigma: Floats) -> Floats:
        scale = self._scale(sigma)
        noise = super().integers(scale)
        noise += super().integers(scale * _FINE)
        return noise

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        scale = self._scale(sigma)
        noise = super().symmetric_integers(scale, order)
        noise += super().symmetric_integers(scale * _FINE, order)
        return noise

    def _scale(self, sigma: Floats) -> Floats:
        if not sigma.max(initial=0.0) < _LARGEST:
            raise SettingsInvalid("the noise is too large for whole numbers of 53 bits; use a larger epsilon")
        return sigma / math.sqrt(self._honest)


class RehearsalNoise(Noise):
    """As much noise as ``silos`` silos add together, of which ``honest`` would suffice; drawn at once, for rehearsals.

    n silos of which h shares suffice add sqrt(n / h) times as much as is charged for. Never for a release: a run with
    it is marked as not private, as with any noise but the package's own (:mod:`discreet.privacy.gaussian.noise`).

    Parameters
    ----------
    silos, honest
        How many there are, and how many must be honest; ``honest = silos`` is what a trusted server would add.
    """

    def __init__(self, silos: int, honest: int) -> None:
        super().__init__()
        if not 1 <= honest <= silos:
            raise SettingsInvalid(f"{honest} of {silos} silos cannot be honest; say between 1 and {silos}")
        self.excess = math.sqrt(silos / honest)

    def integers(self, sigma: Floats) -> Floats:
        return super().integers(self.excess * sigma)

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        return super().symmetric_integers(self.excess * sigma, order)
