"""Charges of a run that goes on: those that the ledger has already are matched, and not entered twice."""

from __future__ import annotations

from discreet.errors import LedgerInvalid
from discreet.privacy.account.run import LedgerRun
from discreet.privacy.ledger import Charge

__all__ = ["ResumedRun"]


class ResumedRun:
    """A journal for the ledger of a run (:meth:`discreet.privacy.ledger.Ledger.keep_in`).

    Parameters
    ----------
    run
        In the data set's ledger.
    released, intended
        How many releases the run has kept, and whether one more was begun. Proof note:
        ``privacy/gaussian/proofs/kept.md``.

    Raises
    ------
    LedgerInvalid
        When the ledger has charges of the run that it knows nothing of, or lacks some: either was set back.
    """

    def __init__(self, run: LedgerRun, *, released: int, intended: bool) -> None:
        self._run, self._entered = run, list(run.charges)
        found = len(self._entered)
        if found > released + intended:
            raise LedgerInvalid(
                f"the ledger has {found} charges of this run, and its folder knows of {released + intended}: that "
                "was set back, and what was released since cannot be drawn again. Begin a new run"
            )
        if found < released:
            raise LedgerInvalid(
                f"the run has made {released} releases, and the ledger has {found} charges of it: the ledger was set "
                "back. Restore it from a backup"
            )

    def charge(self, charge: Charge) -> None:
        """Enter a charge, unless it is the next of those that are there."""
        if not self._entered:
            self._run.charge(charge)
            return
        known = self._entered.pop(0)
        if (known.name, known.price.mu, known.price.delta) != (charge.name, charge.mu, charge.delta):
            raise LedgerInvalid(
                f"the ledger has a charge for {known.name!r} where the run asks for {charge.name!r}: another run"
            )
