"""The gate of one silo, in a release that several silos make together.

Proof notes: ``proofs/gate.md`` and ``proofs/shares.md``. A silo bounds its users and sums them exactly, as the gate
does; the totals of all silos, added as integers, are those of the central gate. The noise is in them already (in
shares) or added by a trusted server; the rounding comes last in both cases, so that what is released has the
central distribution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.gate import check_noise, check_totals, with_noise
from discreet.privacy.gaussian.noise import why_not_private
from discreet.privacy.gaussian.shares import ShareNoise
from discreet.privacy.gaussian.totals import Total
from discreet.privacy.ledger import Detail, Ledger
from discreet.types import Ints

__all__ = ["SiloGate"]


class SiloGate:
    """The only door of a silo.

    Parameters
    ----------
    ledger
        The silo's own.
    shares
        The silo's part of the noise; ``None`` where a trusted server adds all of it.
    """

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
