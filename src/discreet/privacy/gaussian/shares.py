"""Noise in shares: each silo adds a part, and any ``honest`` parts together are all the noise there must be.

Proof note: ``proofs/shares.md``. The server sees the sum of the shares to the last integer, before any coarse
rounding, so a share is finer than a single normal number of 52 bits could make it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.noise import SECRET_BYTES, Noise
from discreet.privacy.own_noise import own_noise
from discreet.types import Floats

__all__ = ["ShareNoise"]


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
    top_ups
        Secrets of further parts (:meth:`top_up`), in order: with the first l of them the shares of ``honest`` - l silos
        suffice.

    Notes
    -----
    **Privacy**. A share has scale sigma / sqrt(honest), so the shares of any ``honest`` silos sum to scale sigma;
    whatever the others add or leave out is independent of them.
    """

    def __init__(self, honest: int, *, key: bytes | None = None, top_ups: Sequence[bytes] = ()) -> None:
        super().__init__(key=key)
        if honest < 1:
            raise SettingsInvalid(f"at least one silo must be honest, got {honest}")
        self._honest = honest
        self._top_ups = [self.top_up(honest, lost, secret) for lost, secret in enumerate(top_ups, 1)]

    @classmethod
    def top_up(cls, honest: int, lost: int, secret: bytes) -> ShareNoise:
        """What a share needs more for the ``lost``-th lost silo, and what is taken off again where it was not lost.

        Variance sigma^2 (1 / (honest - lost) - 1 / (honest - lost + 1)), that is sigma^2 over a product of two.
        """
        left = honest - lost
        if left < 1 or len(secret) != SECRET_BYTES:
            raise SettingsInvalid("one honest silo must be left, and a part has a secret of 32 bytes")
        part = cls(left * (left + 1))
        part._secret = secret
        return part

    def integers(self, sigma: Floats) -> Floats:
        scale = self._scale(sigma)
        noise = super().integers(scale)
        noise += super().integers(scale * _FINE)
        for part in self._top_ups:
            noise += part.integers(sigma)
        return noise

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        scale = self._scale(sigma)
        noise = super().symmetric_integers(scale, order)
        noise += super().symmetric_integers(scale * _FINE, order)
        for part in self._top_ups:
            noise += part.symmetric_integers(sigma, order)
        return noise

    def _scale(self, sigma: Floats) -> Floats:
        if not sigma.max(initial=0.0) < _LARGEST:
            raise SettingsInvalid("the noise is too large for whole numbers of 53 bits; use a larger epsilon")
        return sigma / math.sqrt(self._honest)
