"""What a silo's users have paid: its part in a run in the ledger of its own data set, and its store as a ledger."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import SettingsInvalid
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.privacy.account.costs import Price
from discreet.privacy.account.ledger_file import LedgerFile, LedgerRun
from discreet.privacy.budget import Budget
from discreet.privacy.carried import Carried
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreements import AnyAgreement
from discreet.silos.shared.prototypes import PrototypeAgreement
from discreet.silos.shared.store import COORDINATOR, is_store, read_rows

__all__ = ["StoredCharges", "begin_run", "check_noise_key", "stored_charges"]


def begin_run(
    ledger: LedgerFile, agreement: AnyAgreement, name: str, paid: Carried | None = None
) -> LedgerRun:
    """Enter a silo's part in a run, or go on with it after a stop; before the silo's ratings are read.

    Parameters
    ----------
    ledger
        Of the silo's own data set.
    agreement, name
        What was signed, and as whom. They give the run's id, so that it is the same after every start.
    paid
        The run that found the catalogue, where one did.

    Notes
    -----
    **Privacy.** The whole agreed budget is reserved, and counts once anything was charged: a round may be repeated,
    and what it costs then follows from who stayed away.
    """
    budget: Budget | float = agreement.epsilon
    if isinstance(agreement, PrototypeAgreement):
        price = PrivatePrototypes(agreement.settings).price(agreement.epsilon)
        if price.kind == "gaussian":
            budget = Budget(agreement.epsilon, agreement.delta)
    else:
        budget = agreement.budget
        price = Price(kind="gaussian", mu=agreement.budget.mu)
    known = hashlib.sha256(f"{agreement.digest} silo {name}".encode()).hexdigest()[:32]
    return ledger.begin(
        budget,
        price,
        method=agreement.method,
        adaptive=True,
        model=agreement.run_id,
        trust="silos",
        run=known,
        carried=paid,
    )


def check_noise_key(key: bytes | None, journal: LedgerRun | None) -> None:
    """Refuse noise that can be drawn again where a ledger is kept: it would say that something is private."""
    if key is not None and journal is not None:
        raise SettingsInvalid("a ledger takes runs with fresh noise alone; leave the fixed key out")


@dataclass(frozen=True)
class StoredCharges:
    """Charges of a silo's store: Gaussian ones by name and mu, or the statement of a message of prototypes."""

    gaussian: tuple[tuple[str, float], ...] = ()
    statement: Statement | None = None


def stored_charges(path: Path) -> StoredCharges | None:
    """All charges of a silo's store, read without its agreement; ``None`` where it is no silo's store."""
    if not is_store(path) or read_rows(path, "SELECT owner FROM owner") == [(COORDINATOR,)]:
        return None
    rows = read_rows(path, "SELECT facts FROM entries WHERE kind = 'answer' ORDER BY number")
    facts = [json.loads(text) for (text,) in rows]
    if any("statement" in one for one in facts):
        return StoredCharges(statement=Statement.from_json(facts[0]["statement"]))
    return StoredCharges(tuple((one["charge"], one["mu"]) for one in facts))
