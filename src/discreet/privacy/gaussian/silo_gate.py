"""Both ends of a release over silos: what one silo lets out, and what the sum of all of them is released as.

Proof notes: ``proofs/gate.md`` and ``proofs/shares.md``. A silo bounds its users and sums them exactly, as the gate
does; the totals of all silos, added as integers, are those of the central gate. The noise is in them already (in
shares) or added by a trusted server; the rounding comes last in both cases, so that what is released has the
central distribution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from discreet.privacy.charges import Detail
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.gate import bounded, check_grids, paid
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.shares import ShareNoise
from discreet.privacy.ledger import Ledger
from discreet.types import Floats

__all__ = ["SiloGate", "Summed"]


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
        self, name: str, blocks: Sequence[Block], *, mu: float, detail: Mapping[str, Detail]
    ) -> list[Floats]:
        """Exact totals of the silo's users, with its share of the noise, for one charge of ``mu``.

        Integers held in float64, block by block. To be masked before they leave, unless there is one silo only.
        """
        check_grids(blocks, mu)
        charge = self.ledger.charge(name, mu=mu, detail=detail)
        totals = []
        for block in bounded(blocks):
            total = block.total()
            if self._shares is not None:
                total += block.noise(self._shares, paid(mu))
            totals.append(total)
        self.ledger.redeem(charge)
        return totals


@dataclass(frozen=True)
class Summed:
    """A block whose users are elsewhere: the sum of all silos' totals, in the place of an empty block.

    Parameters
    ----------
    empty
        The same block without users: name, unit and scales of the noise.
    value
        The sum.
    noised
        Whether the silos have added the noise already.
    """

    empty: Block
    value: Floats
    noised: bool

    @property
    def name(self) -> str:
        """As in the statement."""
        return self.empty.name

    @property
    def unit(self) -> float:
        """Grid steps that count as 1."""
        return self.empty.unit

    def energies(self) -> Floats:
        """Of nobody: each silo has bounded its own users."""
        return self.empty.energies()

    def without(self, users: npt.NDArray[np.bool_]) -> Self:
        """Nobody is here to be silenced."""
        return self

    def total(self) -> Floats:
        """The sum."""
        return self.value.copy()

    def largest_entry(self) -> float:
        """Of the sum itself."""
        return float(np.abs(self.value).max(initial=0.0))

    def sigmas(self, mu: float) -> Floats:
        """As in the empty block."""
        return self.empty.sigmas(mu)

    def noise(self, source: Noise, mu: float) -> Floats:
        """The trusted server's noise, or none where the silos have added it."""
        return np.zeros_like(self.value) if self.noised else self.empty.noise(source, mu)
