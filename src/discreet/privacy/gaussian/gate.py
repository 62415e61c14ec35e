"""The gate: the only door through which anything computed from ratings leaves.

Proof note: ``proofs/gate.md``. In short: a user's integer contributions have total squared norm at most 1 in units
(:class:`discreet.privacy.gaussian.blocks.Mechanism`). The bound is checked again on the very integers that are summed
(:mod:`discreet.privacy.gaussian.totals`), and a user who exceeds it is left out. The gate charges for the release,
then draws Gaussian noise of scale unit / mu and adds it. Adding or removing a user therefore moves the release by at
most mu standard deviations: a mu-GDP release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from discreet import kernels
from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.privacy.gaussian.blocks import SLACK, Block, Mechanism
from discreet.privacy.gaussian.noise import Noise, why_not_private
from discreet.privacy.gaussian.totals import Total, exact_totals
from discreet.privacy.ledger import Ledger
from discreet.types import Floats, Ints

__all__ = ["Gate", "check_noise", "check_totals", "paid", "release", "with_noise"]

T = TypeVar("T")

_FINEST = 2.0**10
# No normal number of the generator is beyond 13 standard deviations: noise of this scale stays within 64 bits.
_LARGEST = 2.0**58
# What leaves lies on steps of about this part of the noise. A normal number from a generator of 52 bits lies on
# some 2^52 points; every step must hold so many of them that no likelihood shows where they are.
_RESOLUTION = 2.0**14
# Entries for which it is worth to wake one more thread.
_PIECE = 1 << 16


class Gate:
    """Sums integer contributions exactly, adds noise, charges.

    Parameters
    ----------
    ledger
        Pays for every release; its budget is the run's.
    noise
        Where the noise comes from; a fresh unpredictable source by default. With any other than the package's own the
        ledger is void: the statement says that the run is not private, and why.
    """

    def __init__(self, ledger: Ledger, noise: Noise | None = None) -> None:
        self.ledger = ledger
        self._noise = Noise() if noise is None else noise
        if isinstance(noise, Noise) and noise.kept:
            # Whoever brings a secret may know it.
            raise SettingsInvalid(
                "noise of a stored secret is drawn by a gate that keeps its releases; leave noise out"
            )

    @property
    def noise_excess(self) -> float:
        """How many times larger the noise is than what is charged needs."""
        return self._noise.excess

    def recall(self, name: str, *, mu: float) -> dict[str, Floats] | None:
        """A release that was made before the run was stopped, where a gate keeps them; ``None``: still to be made."""
        return None

    def release(
        self, name: str, blocks: Sequence[Block], *, mu: float, delta: float = 0.0
    ) -> dict[str, Floats]:
        """Release the noisy sums of all blocks together for one charge of ``mu``, where all users are here.

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
            For each block's name its noisy sum, in grid steps (64-bit integers rounded to steps, as float64).

        Notes
        -----
        **Privacy**: mu-GDP for adding or removing one user, whatever the blocks contain.
        """
        check_noise(name, blocks, mu)
        return self.release_totals(name, blocks, exact_totals(blocks), mu=mu, delta=delta)

    def release_totals(
        self,
        name: str,
        forms: Sequence[Block],
        totals: Sequence[Total],
        *,
        mu: float,
        delta: float = 0.0,
        noised: bool = False,
    ) -> dict[str, Floats]:
        """The same from exact totals that an engine has added up.

        Parameters
        ----------
        forms
            The blocks, with or without users: only names, units and noise are read.
        totals
            One for each of them, of users that were each bounded (:func:`exact_totals`).
        noised
            Whether the noise is in the totals already, added in shares by those who added up.
        """
        mu = float(mu)
        check_noise(name, forms, mu)
        check_totals(name, forms, totals)
        names = ", ".join(form.name for form in forms)
        if not noised:
            self.ledger.void(why_not_private(self._noise, Noise))
        charge = self.ledger.charge(name, mu=mu, delta=delta, detail={"blocks": names})
        released = {}
        for form, total in zip(forms, totals, strict=True):
            noisy = total.value.copy() if noised else with_noise(form, total, self._noise, mu)
            released[form.name] = _coarse(noisy, form.sigmas(mu))
        self.ledger.redeem(charge)
        return released


def check_noise(name: str, blocks: Sequence[Block], mu: float) -> None:
    """Refuse a release without a cost, or with noise that the grid or 64 bits do not hold. Reads nothing private."""
    if not mu > 0.0:
        raise BudgetInvalid(f"{name!r} must cost more than nothing, got mu {mu}")
    for block in blocks:
        sigmas = block.sigmas(mu)
        if not sigmas.min() >= _FINEST:
            raise SettingsInvalid(
                f"{block.name}: mu {mu:.4g} asks for noise finer than 1024 grid steps; use a smaller epsilon"
            )
        if not sigmas.max() <= _LARGEST:
            raise SettingsInvalid(
                f"{block.name}: mu {mu:.4g} asks for noise beyond 64-bit numbers; use a larger epsilon"
            )


def check_totals(name: str, forms: Sequence[Block], totals: Sequence[Total]) -> None:
    """Refuse totals of other blocks, of users bounded in other units, and any that are no 64-bit integers."""
    names = [form.name for form in forms]
    if [total.name for total in totals] != names:
        raise SettingsInvalid(f"{name!r} has totals of other blocks than {', '.join(names)}")
    for form, total in zip(forms, totals, strict=True):
        if total.value.dtype != np.int64:
            raise SettingsInvalid(
                f"{name!r}: the total of {total.name} holds {total.value.dtype}, not integers"
            )
        if not np.array_equal(total.unit, form.sigmas(1.0)):
            raise SettingsInvalid(
                f"{name!r}: the users of {total.name} were bounded in another unit than its noise is drawn in"
            )


def with_noise(form: Block, total: Total, source: Noise, mu: float) -> Ints:
    """A total and fresh noise of its own shape, modulo 2^64: broadcast, either would count for several entries."""
    noise = form.noise(source, paid(mu))
    if noise.shape != total.value.shape:
        raise SettingsInvalid(f"{total.name}: a total of shape {total.value.shape}, noise of {noise.shape}")
    noisy = np.empty(noise.shape, np.int64)

    def some(rows: slice) -> None:
        noisy[rows] = noise[rows]
        noisy[rows] += total.value[rows]

    _by_rows(some, noisy)
    return noisy


def paid(mu: float) -> float:
    """The mu to draw noise for, so that the slack of the check is paid."""
    return mu / (1.0 + SLACK)


def _coarse(noisy: Ints, sigma: Floats) -> Floats:
    """Round down to a power of two of about ``sigma`` / 2^14. Down, so that nothing passes a threshold by it."""
    bits = np.maximum(np.floor(np.log2(sigma / _RESOLUTION)), 0.0).astype(np.int64)
    bits = np.broadcast_to(bits, noisy.shape)
    coarse = np.empty(noisy.shape)

    def some(rows: slice) -> None:
        noisy[rows] >>= bits[rows]
        noisy[rows] <<= bits[rows]
        coarse[rows] = noisy[rows]

    _by_rows(some, noisy)
    return coarse


def _by_rows(work: Callable[[slice], None], values: Ints) -> None:
    """Entry by entry, so however the rows are dealt out to threads the outcome is the same."""
    kernels.by_rows(work, len(values), least=max(_PIECE * len(values) // max(values.size, 1), 1))


def release(gate: Gate, name: str, mechanism: Mechanism[T], *private: Any, mu: float) -> T:
    """Contribute, release and read in one go, where all users are here."""
    return mechanism.read(gate.release(name, mechanism.blocks(*private), mu=mu), mu)
