"""Methods of secure sums as the ``federate`` commands run them: the server's part and a silo's."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from discreet.catalogue import Catalogue
from discreet.cli.federate.options import open_silo, read_catalogue
from discreet.cli.federate.output import show_run, summarise_run
from discreet.cli.output import printer
from discreet.model import Model
from discreet.privacy.statement import Statement
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.messages import max_bytes
from discreet.silos.shared.model_message import decode_model, encode_model
from discreet.silos.silo.silo import Silo
from discreet.silos.transport.hosting import check_out, save_once

__all__ = ["ModelGuest", "ModelHost"]


class ModelHost:
    """The server: a coordinator from its store to a saved model."""

    def __init__(
        self, agreement: Agreement, catalogue: Catalogue, store: Path, out: str, *, force: bool
    ) -> None:
        check_out(out, begun=store.exists(), overwrite=force)
        self._agreement, self._catalogue = agreement, catalogue
        self._out, self._force = out, force
        self._model: Model | None = None
        self.begin = partial(Coordinator, store, agreement)
        self.fewest, self.largest = agreement.smallest_roster, max_bytes(agreement)
        self.result: dict[str, Any] | None = None

    def finish(self, coordinator: Coordinator) -> bytes:
        """Save the model; the last word to the silos."""
        self._model = coordinator.model(self._catalogue)
        save_once(self._model, self._out, overwrite=self._force)
        self.result = summarise_run(coordinator, self._model)
        return encode_model(self._model, self._agreement)

    def count_last_word(self, sent: int) -> None:
        """Add the bytes of the model that silos were sent at the end."""
        if self.result is not None:
            total = self.result["bytes_down"] + sent
            self.result |= {"bytes_down": total, "model_bytes_down": sent}

    def show(self, result: dict[str, Any]) -> None:
        """Tell people how the run ended."""
        assert self._model is not None
        show_run("Trained in silos", result, self._model, self._out)


class ModelGuest:
    """A silo, and what it does with the finished model."""

    def __init__(
        self, agreement: Agreement, options: dict[str, Any], out: str | None, *, force: bool
    ) -> None:
        self._agreement, self._options = agreement, options
        self._catalogue = read_catalogue(options["catalogue"], agreement)
        self._out, self._force = out, force
        self.largest = max_bytes(agreement)
        if out is not None:
            check_out(out, begun=Path(options["store"]).exists(), overwrite=force)

    def open(self) -> Silo:
        """The silo."""
        return open_silo(self._agreement, self._options)

    def finish(self, silo: Silo, last_word: bytes) -> None:
        """Save the model, if a place for it was named."""
        if self._out is not None:
            save_once(
                decode_model(last_word, self._agreement, self._catalogue), self._out, overwrite=self._force
            )

    def answered(self, silo: Silo) -> str:
        """What to say after an answer."""
        status = silo.status()
        of = f" of {status['rounds']}" if status["rounds"] else ""
        return f"round {status['round'] + 1}{of} answered; epsilon {status['epsilon_spent']:.4g} spent"

    def statement(self, silo: Silo) -> Statement | None:
        """What the silo's users have paid, if anything."""
        return silo.statement() if silo.status()["charged_mu"] else None

    def show(self) -> None:
        """Tell people where the model is."""
        if self._out is not None:
            printer().print(f"Model saved to {self._out}", markup=False)
