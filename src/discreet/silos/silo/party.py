"""What silos of both kinds of runs do: enter the run into their data set's ledger, and take the model at its end."""

from __future__ import annotations

import hashlib
from pathlib import Path

from discreet.catalogue import Catalogue
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.model import Model
from discreet.model.folder import save_once
from discreet.privacy.account.ledger_file import LedgerFile, LedgerRun
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried, Price
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreement import Agreement, AnyAgreement, PrototypeAgreement
from discreet.silos.shared.outcome import open_model
from discreet.silos.shared.store import StoreOwner

__all__ = ["Party", "begin_run"]


class Party(StoreOwner):
    """A silo of a run."""

    agreement: AnyAgreement
    name: str

    def answer(self, question: bytes) -> bytes:
        """The answer to a question, the same whenever it is asked again."""
        raise NotImplementedError

    def paid(self) -> Statement | None:
        """What the silo's users have paid, from its own account; ``None`` where they have paid nothing."""
        raise NotImplementedError

    @property
    def finished(self) -> bool:
        """Whether the silo has had the model: its part in the run is over."""
        return bool(self._store.entries("finished"))

    def finish(
        self, body: bytes, catalogue: Catalogue, out: Path | None = None, *, force: bool = False
    ) -> Model:
        """Check the model that the server sent, save it if a place was named, and note that the run is over.

        Notes
        -----
        **Privacy.** The model that is saved has the server's statement, which covers every silo, and not this silo's
        own. The silo takes it only if it promises no more than the silo's users have, so that nobody who reads the
        folder is told too much; and all silos have the same folder, to the last byte.
        """
        model = open_model(body, self.agreement, catalogue, self.paid())
        if out is not None:
            save_once(model, out, overwrite=force)
        self.end()
        return model

    def end(self) -> None:
        """Keep no answer any longer, as the run is over: with the mask's key it would show this silo's totals."""
        with self._store.transaction():
            if isinstance(self.agreement, Agreement):
                self._store.forget_bodies("answer")
            self._store.add("finished")
        self._store.forget_deleted()


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
