"""Noise in shares: each silo adds a part, and any ``honest`` parts together are all the noise there must be.

Proof note: ``proofs/shares.md``. The server sees the sum of the shares to the last integer, before any coarse
rounding, so a share is finer than a single normal number of 52 bits could make it.

A silo bounds its users and sums them exactly, as the gate does (``proofs/gate.md``); the totals of all silos, added as
integers, are those of the central gate. The noise is in them already (in shares) or added by a trusted server; the
rounding comes last in both cases, so that what is released has the central distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.gate import check_noise, check_totals, with_noise
from discreet.privacy.gaussian.noise import SECRET_BYTES, Noise, own_noise, why_not_private
from discreet.privacy.gaussian.totals import Total
from discreet.privacy.ledger import Detail, Ledger
from discreet.types import Floats, Ints

__all__ = ["RehearsalNoise", "ShareNoise", "SiloGate"]


# Scale of a second, independent normal number relative to the first: it fills the gaps between the values that
# the first can take.
_FINE = 2.0**-11
# Above this the sum of a total and its noise might leave the integers that float64 holds.
_LARGEST = 2.0**46


@own_noise
class ShareNoise(Noise):
    """One silo's part of the noise; so many ``honest`` parts must suffice.

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


class SiloGate:
    """The only door of a silo, with its share of the noise; ``None`` where a trusted server adds all of it."""

    def __init__(self, ledger: Ledger, shares: ShareNoise | None) -> None:
        self.ledger = ledger
        self._shares = shares

    def totals(
        self,
        name: str,
        forms: Sequence[Block],
        totals: Sequence[Total],
        *,
        mu: float,
        detail: Mapping[str, Detail],
    ) -> list[Ints]:
        """Exact totals of the silo's users, with its share of the noise of ``mu``, for one charge of it.

        Integers, block by block. To be masked before they leave, unless there is one silo only.
        """
        check_noise(name, forms, mu)
        check_totals(name, forms, totals)
        shares = self._shares
        if shares is not None:
            self.ledger.void(why_not_private(shares, ShareNoise))
        charge = self.ledger.charge(name, mu=mu, detail=detail)
        let_out = []
        for form, total in zip(forms, totals, strict=True):
            let_out.append(total.value.copy() if shares is None else with_noise(form, total, shares, mu))
        self.ledger.redeem(charge)
        return let_out
