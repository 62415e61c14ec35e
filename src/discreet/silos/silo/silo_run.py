"""A run at a silo, from its store to a saved model, whichever method was agreed on."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from discreet.catalogue import Catalogue
from discreet.model import Model
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreements import AnyAgreement, open_model
from discreet.silos.shared.saving import check_out, save_once
from discreet.silos.silo.prototype_silo import PrototypeSilo
from discreet.silos.silo.silo import Silo

__all__ = ["AnySilo", "SiloRun", "statement_of"]

AnySilo: TypeAlias = Silo | PrototypeSilo


def statement_of(silo: AnySilo) -> Statement | None:
    """What a silo's users have paid, from its own account; ``None`` where they have paid nothing."""
    if isinstance(silo, PrototypeSilo):
        return silo.statement()
    return silo.statement() if silo.status()["charged_mu"] else None


class SiloRun:
    """What a silo does with the model at the end of a run.

    Parameters
    ----------
    agreement, catalogue
        The silo's own copies.
    store
        The silo's own; where it is there already, the run's own model may be in ``out``.
    out, force
        Folder for the model if it is to be kept, and whether another model there may be replaced.

    Notes
    -----
    **Privacy.** The model that is saved has the server's statement, which covers every silo, and not this silo's own.
    The silo takes it only if it promises no more than the silo's users have, so that nobody who reads the folder is
    told too much; and all silos have the same folder, to the last byte. What this silo's users have paid is in the
    silo's store.
    """

    def __init__(
        self,
        agreement: AnyAgreement,
        catalogue: Catalogue,
        store: Path,
        out: str | Path | None = None,
        *,
        force: bool = False,
    ) -> None:
        if out is not None:
            check_out(out, begun=store.exists(), overwrite=force)
        self._agreement, self._catalogue = agreement, catalogue
        self._out, self._force = out, force

    def finish(self, silo: AnySilo, body: bytes) -> Model:
        """Check the model that the server sent, and save it if a place was named.

        Raises
        ------
        Refused
            When it is none of this run, or promises more privacy than the silo's users have.
        """
        model = open_model(body, self._agreement, self._catalogue, statement_of(silo))
        if self._out is not None:
            save_once(model, self._out, overwrite=self._force)
        if isinstance(silo, Silo):
            silo.forget()
        return model
