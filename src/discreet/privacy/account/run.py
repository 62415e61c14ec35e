"""One run in the ledger of a data set: every charge is on the disk before its noise is drawn."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Literal, Self

from discreet.errors import BudgetExceeded, DiscreetError, LedgerInvalid, UnchargedRelease
from discreet.privacy.account.account import Account
from discreet.privacy.account.earlier import EarlierRuns
from discreet.privacy.account.locks import try_lock
from discreet.privacy.account.records import Charged, End, Open, Price, Record
from discreet.privacy.account.store import LedgerStore, Locked
from discreet.privacy.ledger import Charge
from discreet.privacy.pure.ledger import PureCharge
from discreet.private_files import open_private

__all__ = ["LedgerRun", "ResumedRun", "RunLock"]

# What the ledgers of single runs let in above their budget; the cap need not be asked again for it.
_TOLERANCE = 2e-12


class RunLock:
    """A lock beside the ledger that a run holds as long as its process lives; it tells running from cut short."""

    def __init__(self, ledger: Path, run: str) -> None:
        self._path = ledger.with_name(f".{ledger.name}.run-{run[:16]}")
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Hold it, unless another process does. Asked for under the ledger's own lock."""
        descriptor = open_private(self._path)
        if not try_lock(descriptor):
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def held(self) -> bool:
        """Whether some process holds it; changes nothing. Under the ledger's own lock, which may be a shared one."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY)
        except OSError:
            return False
        try:
            return not try_lock(descriptor, shared=True)
        finally:
            os.close(descriptor)

    def give_back(self) -> None:
        """Remove it. Under the ledger's own lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            self._path.unlink(missing_ok=True)


class LedgerRun:
    """A run that is entered in a ledger and holds its reservation; ``with`` ends it.

    Made by :meth:`discreet.privacy.account.ledger_file.LedgerFile.begin`.

    Parameters
    ----------
    file, asked, earlier, held, head, carried
        The ledger, the run as it was entered, what was there before it, its lock, the hash of the last record, and
        ids of earlier runs that its model carries, which are entered too.

    Notes
    -----
    **Privacy.** :meth:`charge` returns after the charge is on the disk, and raises where it is not: the run has
    been ended by somebody, the ledger was damaged or set back, or the disk is full. Proof note:
    ``privacy/proofs/ledger.md``. Safe to use from several threads.
    """

    def __init__(
        self,
        file: LedgerStore,
        asked: Open,
        earlier: EarlierRuns,
        held: RunLock,
        head: str,
        carried: frozenset[str] = frozenset(),
    ) -> None:
        self.asked, self.earlier, self.carried = asked, earlier, carried
        self._file, self._held, self._head = file, held, head
        self._over = False
        self._lock = Lock()

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._over

    @property
    def charges(self) -> tuple[Charged, ...]:
        """What the ledger has of this run, in order."""
        with self._file.reading() as chain:
            return Account.from_chain(chain).runs[self.asked.run].charges

    def charge(self, charge: Charge | PureCharge) -> None:
        """Enter a charge of the run's own ledger, before it counts there."""
        self.pay(charge.name, _price(charge))

    def pay(self, name: str, price: Price, *, last: bool = False) -> None:
        """Enter a charge; with ``last`` the run is ended in the same breath.

        Raises
        ------
        BudgetExceeded
            When the run would pass both its reservation and the cap. Nothing is charged then.
        UnchargedRelease
            When the run is over.
        """
        charged = Charged(run=self.asked.run, name=name, price=price)
        ending: list[Record] = [End(run=self.asked.run, state="ended")] if last else []
        with self._lock, self._file.locked() as locked:
            account = self._checked(locked)
            self._refuse_excess(account, charged)
            head = locked.append([charged, *ending])
            if last:
                self._leave()
        self._head = head

    def settle(self, known: Iterable[Charge | PureCharge]) -> None:
        """Enter those of a silo's charges that the ledger lacks, because the silo began without one.

        Parameters
        ----------
        known
            All charges that the silo's own store holds.
        """
        stored = Counter((charge.name, _price(charge)) for charge in known)
        with self._lock, self._file.locked() as locked:
            run = self._checked(locked).runs[self.asked.run]
            entered = Counter((charge.name, charge.price) for charge in run.charges)
            missing = [
                Charged(run=self.asked.run, name=name, price=price)
                for name, price in (stored - entered).elements()
            ]
            head = locked.append(missing)
        self._head = head

    def end(self, state: Literal["ended", "failed", "stopped"] = "ended") -> None:
        """Say that nothing more will be charged; what was reserved and not needed is free again."""
        with self._lock:
            if self._over:
                return
            try:
                with self._file.locked() as locked:
                    run = Account.from_chain(locked.chain).runs.get(self.asked.run)
                    if run is not None and run.state == "running":
                        locked.append([End(run=self.asked.run, state=state)])
                    self._leave()
            finally:
                self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.end("stopped" if self.asked.trust == "silos" else "failed")
        except (DiscreetError, OSError):
            # What went wrong before is what must be told; the next run finds this one cut short.
            if error is None:
                raise

    def _leave(self) -> None:
        self._over = True
        self._held.give_back()

    def _checked(self, locked: Locked) -> Account:
        """The account, if the run may still charge and the ledger still knows what it told us."""
        if self._over:
            raise UnchargedRelease("the run is over; nothing more can be charged to the ledger")
        if self._head not in locked.chain.hashes:
            raise LedgerInvalid(
                f"{self._file.path} was set back or replaced while a run went on: a record it had is gone. Nothing was "
                "charged; restore it from a backup"
            )
        account = Account.from_chain(locked.chain)
        run = account.runs.get(self.asked.run)
        if run is None or run.state != "running":
            raise UnchargedRelease(
                f"{self._file.path} does not have this run as going on: it was taken for cut short. Nothing was charged"
            )
        return account

    def _refuse_excess(self, account: Account, charged: Charged) -> None:
        run = account.runs[self.asked.run]
        with_it = replace(run, charges=(*run.charges, charged))
        more, reserved = with_it.charged, self.asked.reserved.cost
        slack = 1.0 + _TOLERANCE
        inside = (
            more.mu <= reserved.mu * slack
            and more.delta <= reserved.delta * slack
            and sum(more.pure) <= sum(reserved.pure) * slack
            and more.selections in ((), reserved.selections)
        )
        grown = replace(account, runs={**account.runs, self.asked.run: with_it})
        if not inside and not grown.within_cap:
            raise BudgetExceeded(
                f"{charged.name!r} costs more than this run reserved in {self._file.path}, and the cap "
                f"({account.cap}) has no room for it"
            )


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


def _price(charge: Charge | PureCharge) -> Price:
    if isinstance(charge, Charge):
        return Price(kind="gaussian", mu=charge.mu, delta=charge.delta)
    return Price(kind="pure", epsilon=charge.epsilon)
