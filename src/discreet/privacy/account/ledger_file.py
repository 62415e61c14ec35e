"""The ledger of a data set: every run on it, what they come to, and what is left. Outlives the process."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from threading import Lock
from types import TracebackType
from typing import Literal, Self, TypeAlias

from pydantic import ValidationError

from discreet.errors import (
    BudgetExceeded,
    BudgetInvalid,
    DiscreetError,
    LedgerInvalid,
    SettingsInvalid,
    UnchargedRelease,
)
from discreet.privacy.account.account import Account, Cap, Charged, End, Open, Record, RefusedRun, Resume
from discreet.privacy.account.store import Chain, LedgerStore, Locked, now
from discreet.privacy.accounting import round_up
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried, EarlierRuns, Price, RunCost, shared_delta
from discreet.privacy.ledger import Charge
from discreet.privacy.promise import TrustModel

__all__ = ["AnyLedger", "LedgerFile", "LedgerRun", "ResumedRun", "open_run"]


class LedgerFile:
    """A file that knows what all runs on one data set have cost.

    Parameters
    ----------
    path
        One file for one data set: all ratings of the same people, this month's and last month's alike. Begun with the
        first run, or with the first cap. Its owner alone can read it. Keep it on a local disk, and never set it back.
    group
        For runs about some of the people alone: you declare that nobody is in two groups of this ledger. Runs without
        a group count for everybody.

    Notes
    -----
    **Privacy.** Unit: one user with all ratings. Relation: add or remove one user. A run is entered
    before it starts; every charge is on the disk before its noise is drawn. Proof note: ``privacy/proofs/ledger.md``.

    Examples
    --------
    >>> import discreet, tempfile, pathlib
    >>> from discreet.data.synthetic import market
    >>> ratings, budget = market(1_200, 40, 12_000, rng=0), discreet.Budget(1.0, 1e-6)
    >>> ledger = discreet.LedgerFile(pathlib.Path(tempfile.mkdtemp()) / "market.ledger")
    >>> for month in range(3):
    ...     statement = discreet.ItemMean().fit(ratings, budget, ledger=ledger).statement_
    >>> statement.earlier.runs, round(statement.earlier.epsilon, 2)
    (2, 1.81)
    """

    def __init__(self, path: str | os.PathLike[str], *, group: str | None = None) -> None:
        self._file = LedgerStore(path)
        self.path, self.group = self._file.path, group

    def begin(
        self,
        budget: Budget | float,
        price: Price,
        *,
        method: str,
        adaptive: bool,
        model: str | None = None,
        trust: TrustModel = "central",
        run: str | None = None,
        carried: Carried | None = None,
    ) -> LedgerRun:
        """Enter a run, if the cap has room for all it may cost (``price``); a refusal is noted.

        ``adaptive``: costs of later releases may follow from earlier ones. ``run``: the id of one that may be stopped
        and goes on where it was. Runs in ``carried`` that this ledger does not know are entered beside it, about
        everybody.
        """
        epsilon, delta = (
            (budget.epsilon, budget.delta) if isinstance(budget, Budget) else (float(budget), 0.0)
        )
        try:
            asked = Open(
                when=now(),
                method=method,
                model=model,
                trust=trust,
                group=self.group,
                epsilon=epsilon,
                delta=delta,
                run=secrets.token_hex(16) if run is None else run,
                reserved=price,
                adaptive=adaptive,
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise SettingsInvalid(
                f"the ledger cannot enter this run: {first['loc']}: {first['msg']}"
            ) from None
        carried = Carried() if carried is None else carried
        if carried.fault is not None:
            raise SettingsInvalid(f"the ledger cannot count what has no limit: {carried.fault}")
        self._file.create()
        with self._file.locked() as locked:
            return self._enter(locked, asked, carried.runs)

    def set_cap(self, cap: Budget | None) -> None:
        """Say what all runs together may cost from now on; ``None`` lifts the cap. Either is noted for good."""
        self._file.create()
        with self._file.locked() as locked:
            epsilon, delta = (None, None) if cap is None else (cap.epsilon, cap.delta)
            locked.append([Cap(epsilon=epsilon, delta=delta, when=now())])

    def account(self) -> Account:
        """All runs and what they come to, checked."""
        return Account.from_chain(self._file.read())

    def verify(self, head: str | None = None) -> Chain:
        """Check every line, and that a head kept elsewhere is among them."""
        chain = self._file.read()
        Account.from_chain(chain)
        if head is not None and head not in chain.hashes:
            raise LedgerInvalid(
                f"{self.path} was set back, cut or replaced: its lines are whole, but the head {head[:16]}... is none "
                "of theirs. Restore it from a backup; what it has forgotten was spent"
            )
        return chain

    def _enter(self, locked: Locked, asked: Open, carried: Sequence[RunCost]) -> LedgerRun:
        account = Account.from_chain(locked.chain)
        known = account.runs.get(asked.run)
        if known is not None:
            if not isinstance(known.asked, Open) or _terms(known.asked) != _terms(asked):
                raise LedgerInvalid(f"{self.path} has this run with another budget, method or group")
            asked = known.asked
        strange = [run for run in carried if not account.knows(run)]
        entries: list[Record] = [record for run in strange for record in _entered(run)]
        account = account.with_records(entries)
        if not account.with_run(asked).within_cap:
            self._refuse(locked, account, asked, strange)
        earlier = _earlier(account.without(asked.run), asked)
        if known is None:
            entries.append(asked)
        elif known.state != "running":
            entries.append(Resume(run=asked.run))
        head = locked.append(entries)
        entered = frozenset(run.run for run in carried)
        return LedgerRun(self._file, asked, earlier.model_copy(update={"head": head}), head, entered)

    def _refuse(self, locked: Locked, account: Account, asked: Open, strange: Sequence[RunCost]) -> None:
        fields = asked.model_dump(exclude={"kind", "run", "reserved", "adaptive"})
        locked.append([RefusedRun(**fields)])
        assert account.cap is not None
        cap = account.cap
        spent = round_up(account.epsilon(cap.delta))
        total = round_up(account.with_run(asked).epsilon(cap.delta))
        raise BudgetExceeded(
            f"the cap of {self.path} ({cap}) has no room for epsilon {asked.epsilon:g}, delta {asked.delta:g}: "
            f"epsilon {spent} is spent{_counted(strange)}, and with this run it would be {total}. No ratings were "
            "used. See 'discreet ledger plan' for an epsilon that fits, or raise the cap"
        )


class LedgerRun:
    """A run that is entered in a ledger; ``with`` ends it. Made by :meth:`LedgerFile.begin`.

    Notes
    -----
    **Privacy.** :meth:`charge` returns after the charge is on the disk, and raises where it is not: the run has ended,
    the cap has no room, the ledger was damaged or set back, or the disk is full. Proof note:
    ``privacy/proofs/ledger.md``. Safe to use from several threads.
    """

    def __init__(
        self,
        file: LedgerStore,
        asked: Open,
        earlier: EarlierRuns,
        head: str,
        carried: frozenset[str] = frozenset(),
    ) -> None:
        self.asked, self.earlier, self.carried = asked, earlier, carried
        self.over = False
        self._file, self._head = file, head
        self._lock = Lock()

    @property
    def charges(self) -> tuple[Charged, ...]:
        """What the ledger has of this run, in order."""
        return Account.from_chain(self._file.read()).runs[self.asked.run].charges

    def charge(self, charge: Charge) -> None:
        """Enter a charge of the run's own ledger, before it counts there."""
        self.pay(charge.name, _price(charge))

    def pay(self, name: str, price: Price, *, last: bool = False) -> None:
        """Enter a charge if the cap has room for it; with ``last`` the run is ended in the same breath."""
        charged = Charged(run=self.asked.run, name=name, price=price)
        with self._lock, self._file.locked() as locked:
            account = self._checked(locked).with_records([charged])
            if not account.within_cap:
                raise BudgetExceeded(
                    f"{name!r} cannot be charged: the cap of {self._file.path} ({account.cap}) has no room for it "
                    "beside all that runs have charged"
                )
            head = locked.append([charged, End(run=self.asked.run, state="ended")] if last else [charged])
        self._head, self.over = head, last

    def settle(self, known: Iterable[Charge]) -> None:
        """Enter those of a silo's charges that the ledger lacks, because the silo began without one."""
        stored = Counter((charge.name, _price(charge)) for charge in known)
        with self._lock, self._file.locked() as locked:
            entered = self._checked(locked).runs[self.asked.run].charges
            missing = stored - Counter((charge.name, charge.price) for charge in entered)
            head = locked.append(
                [Charged(run=self.asked.run, name=name, price=price) for name, price in missing.elements()]
            )
        self._head = head

    def end(self, state: Literal["ended", "failed", "stopped"] = "ended") -> None:
        """Say that nothing more will be charged; what was not needed is free again."""
        with self._lock:
            if self.over:
                return
            self.over = True
            with self._file.locked() as locked:
                run = Account.from_chain(locked.chain).runs.get(self.asked.run)
                if run is not None and run.state == "running":
                    locked.append([End(run=self.asked.run, state=state)])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.end("stopped" if self.asked.trust == "silos" else "failed")
        except (DiscreetError, OSError):
            # What went wrong before is what must be told; a run that has not ended counts whole.
            if error is None:
                raise

    def _checked(self, locked: Locked) -> Account:
        """The account, if the run may still charge and the ledger still knows what it told us."""
        if self.over:
            raise UnchargedRelease("the run is over; nothing more can be charged to the ledger")
        if self._head not in locked.chain.hashes:
            raise LedgerInvalid(
                f"{self._file.path} was set back or replaced while a run went on: a record it had is gone. Nothing was "
                "charged; restore it from a backup"
            )
        account = Account.from_chain(locked.chain)
        if account.runs[self.asked.run].state != "running":
            raise UnchargedRelease(
                f"{self._file.path} does not have this run as going on: another process has ended it. Nothing was "
                "charged"
            )
        return account


class ResumedRun:
    """A journal for the ledger of a run that goes on (:meth:`discreet.privacy.ledger.Ledger.keep_in`).

    ``released`` and ``intended``: how many releases the run has kept, and whether one more was begun. Refuses where the
    ledger has charges of the run that it knows nothing of, or lacks some: either was set back. Proof note:
    ``privacy/gaussian/proofs/kept.md``.
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


AnyLedger: TypeAlias = LedgerFile | LedgerRun | str | os.PathLike[str]
"""A ledger as ``fit`` takes it: a file, its path, or a run that was entered already."""


def open_run(
    ledger: AnyLedger,
    budget: Budget,
    price: Price,
    *,
    method: str,
    adaptive: bool,
    run: str | None = None,
    carried: Carried | None = None,
) -> LedgerRun:
    """The run to charge: a new one, one that goes on (``run``), or one that was entered before ratings were read."""
    if not isinstance(ledger, LedgerRun):
        file = ledger if isinstance(ledger, LedgerFile) else LedgerFile(ledger)
        return file.begin(budget, price, method=method, adaptive=adaptive, run=run, carried=carried)
    asked = ledger.asked
    wanted = (budget.epsilon, budget.delta, price, adaptive)
    if (asked.epsilon, asked.delta, asked.reserved, asked.adaptive) != wanted or ledger.over:
        raise BudgetInvalid("the run in the ledger is over, or was entered for another budget than this one")
    if carried is not None and (carried.fault or not {one.run for one in carried.runs} <= ledger.carried):
        raise BudgetInvalid(
            "the run in the ledger was entered without the earlier runs that its model carries"
        )
    return ledger


def _price(charge: Charge) -> Price:
    if charge.mu > 0.0:
        return Price(kind="gaussian", mu=charge.mu, delta=charge.delta)
    return Price(kind="pure", epsilon=charge.epsilon)


def _terms(asked: Open) -> dict[str, object]:
    return asked.model_dump(exclude={"when", "model"})


def _entered(run: RunCost) -> list[Record]:
    """A run that was made elsewhere, as a run of this ledger that is over; whom it was about is not known here."""
    asked = Open(
        when=now(),
        method=f"earlier {run.part}",
        model=run.name,
        epsilon=run.epsilon,
        delta=run.delta,
        run=run.entry,
        reserved=run.price,
        adaptive=False,
    )
    return [asked, Charged(run=run.entry, name=run.name, price=run.price), End(run=run.entry, state="ended")]


def _counted(strange: Sequence[RunCost]) -> str:
    named = ", ".join(f"{run.name} with epsilon {round_up(run.epsilon)}" for run in strange)
    return f", that of {named} included, which the new model carries" if strange else ""


def _earlier(account: Account, asked: Open) -> EarlierRuns:
    """What the statement of a run says of the runs before it."""
    group = asked.group
    counted = [
        run for run in account.runs.values() if run.asked.group in (None, group) and not run.cost.nothing
    ]
    before, together = account.cost(group), account.with_run(asked).cost(group)
    # Not the cap's delta: where a model carries all of these runs, its statement gives their sum at this one.
    delta = shared_delta([asked.delta, *(run.asked.delta for run in counted)], together.delta)
    earlier = before.epsilon(delta)
    own = asked.epsilon if asked.delta == delta else 0.0
    cap = account.cap
    return EarlierRuns(
        ledger=account.name,
        group=group,
        runs=len(counted),
        earlier_epsilon=earlier,
        epsilon=max(earlier, own, together.epsilon(delta)),
        delta=delta,
        cap_epsilon=None if cap is None else cap.epsilon,
        cap_delta=None if cap is None else cap.delta,
        head=account.head,
    )
