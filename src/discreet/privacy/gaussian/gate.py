"""The gate: the only door through which anything computed from ratings leaves.

Proof note: ``proofs/gate.md``. In short: a user's integer contributions have total squared norm at most 1 in
units (:func:`discreet.privacy.gaussian.energy_scaled`), the gate checks that again on the very integers it sums and
silences whoever exceeds it, and adds Gaussian noise of scale unit / mu. Adding or removing a user therefore
moves the release by at most 1/ (1/mu) = mu standard deviations: a mu-GDP release, charged before it is made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.privacy.gaussian.blocks import Block, total_energies
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger
from discreet.types import Floats

__all__ = ["Gate", "bounded", "check_grids", "paid"]


# Float rounding in computing energies (relative error below 1e-12 for any row length) is allowed for by
# this much in the check and paid for by the same amount in the noise.
_SLACK = 1e-9
_EXACT = 2.0**53
_FINEST = 2.0**10
# What leaves lies on steps of about this part of the noise. A normal number from a generator of 52 bits lies on
# some 2^52 points; every step must hold so many of them that no likelihood shows where they are.
_RESOLUTION = 2.0**14


class Gate:
    """Sums integer contributions exactly, adds noise, charges.

    Parameters
    ----------
    ledger
        Pays for every release; its budget is the run's.
    noise
        Where the noise comes from; a fresh unpredictable source by default.
    """

    def __init__(self, ledger: Ledger, noise: Noise | None = None) -> None:
        self.ledger = ledger
        self._noise = Noise() if noise is None else noise

    @property
    def fixed_noise(self) -> bool:
        """Whether the noise repeats (tests), which makes every release not private."""
        return self._noise.fixed

    @property
    def noise_excess(self) -> float:
        """How many times larger the noise is than what is charged needs."""
        return self._noise.excess

    def release(
        self, name: str, blocks: Sequence[Block], *, mu: float, delta: float = 0.0
    ) -> dict[str, Floats]:
        """Release the noisy sums of all blocks together for one charge of ``mu``.

        Parameters
        ----------
        name
            What the statement calls this release.
        blocks
            Contributions whose energies add up to at most 1 for every user.
        mu
            Gaussian cost of the release.
        delta
            Direct cost in delta, where the use of the release needs it (a threshold).

        Returns
        -------
        dict
            For each block's name its noisy sum, in grid steps (integers held in float64).

        Notes
        -----
        **Privacy**: mu-GDP for adding or removing one user, whatever the blocks contain.
        """
        mu = float(mu)
        if not mu > 0.0:
            raise BudgetInvalid(f"{name!r} must cost more than nothing, got mu {mu}")
        check_grids(blocks, mu)
        charge = self.ledger.charge(
            name, mu=mu, delta=delta, detail={"blocks": ", ".join(b.name for b in blocks)}
        )
        released = {}
        for block in bounded(blocks):
            total = block.total()
            total += block.noise(self._noise, paid(mu))
            released[block.name] = _coarse(total, block.sigmas(mu))
        self.ledger.redeem(charge)
        return released


def check_grids(blocks: Sequence[Block], mu: float) -> None:
    """Refuse blocks whose sums would not be exact, or whose noise would be too fine. Reads nothing private."""
    for block in blocks:
        _check_grid(block, mu)


def bounded(blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks without those users whose contributions to all of them together exceed the bound."""
    # `not <=` rather than `>`: an energy that is not a number is silenced as well.
    excess = ~(total_energies(blocks) <= 1.0 + _SLACK)
    if excess.any():
        return [block.without(excess) for block in blocks]
    return blocks


def paid(mu: float) -> float:
    """The mu to draw noise for, so that the slack of the check is paid."""
    return mu / (1.0 + _SLACK)


def _check_grid(block: Block, mu: float) -> None:
    if not block.largest_entry() * (1.0 + _SLACK) < _EXACT:
        raise SettingsInvalid(
            f"{block.name}: too many users for exact sums on this grid (partial sums could pass 2^53)"
        )
    if not block.sigmas(mu).min() >= _FINEST:
        raise SettingsInvalid(
            f"{block.name}: mu {mu:.4g} asks for noise finer than 1024 grid steps; use a smaller epsilon"
        )


def _coarse(noisy: Floats, sigma: Floats) -> Floats:
    """Round down to a power of two of about ``sigma`` / 2^14. Down, so that nothing passes a threshold by it."""
    step = np.maximum(2.0 ** np.floor(np.log2(sigma / _RESOLUTION)), 1.0)
    np.floor(noisy / step, out=noisy)
    noisy *= step
    return noisy
