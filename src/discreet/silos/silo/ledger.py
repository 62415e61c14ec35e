"""A silo's part in a run, in the ledger of its own data set."""

from __future__ import annotations

import hashlib

from discreet.errors import SettingsInvalid
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.privacy.account.ledger_file import LedgerFile, LedgerRun
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried, Price
from discreet.silos.shared.agreements import AnyAgreement
from discreet.silos.shared.prototypes import PrototypeAgreement

__all__ = ["begin_run", "check_noise_key"]


def begin_run(
    ledger: LedgerFile, agreement: AnyAgreement, name: str, paid: Carried | None = None
) -> LedgerRun:
    """Enter a silo's part in a run, or go on with it after a stop; before the silo's ratings are read.

    Notes
    -----
    **Privacy.** The whole agreed budget counts once anything was charged: a round may be repeated, and what it
    costs then follows from who stayed away.
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
