"""What silos of both kinds of runs do with the model at the end, and when they are started again after it."""

from __future__ import annotations

from pathlib import Path

from discreet.catalogue import Catalogue
from discreet.model import Model
from discreet.model.saving import save_once
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import AnyAgreement, open_model
from discreet.silos.shared.store import StoreOwner

__all__ = ["Party"]


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
