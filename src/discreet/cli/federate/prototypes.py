"""Private prototypes as the ``federate`` commands run them: the server's part and a silo's."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from discreet.cli.federate.options import read_catalogue, read_silo_ratings
from discreet.cli.output import printer
from discreet.methods.prototypes.saved import STATEMENT, check_place, save_factors
from discreet.privacy.statement import Statement
from discreet.silos.server.prototype_coordinator import PrototypeCoordinator
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.prototype_messages import largest, open_factors
from discreet.silos.silo.prototype_silo import PrototypeSilo

__all__ = ["FactorGuest", "FactorHost", "show_factors"]


class FactorHost:
    """The server: a coordinator from its store to saved factors."""

    def __init__(self, agreement: PrototypeAgreement, store: Path, out: str, *, force: bool) -> None:
        check_place(out, overwrite=force or store.exists())
        self._agreement, self._out, self._force = agreement, out, force
        self.begin = partial(PrototypeCoordinator, store, agreement)
        # Each silo's message is private on its own, so any one of them may be left.
        self.fewest, self.largest = 1, largest(agreement)
        self.result: dict[str, Any] | None = None

    def finish(self, coordinator: PrototypeCoordinator) -> bytes:
        """Save the factors; they are the last word to the silos too."""
        factors = coordinator.factors()
        promise = save_factors(self._out, factors, coordinator.statements(), overwrite=self._force)
        status = coordinator.status()
        self.result = {
            "method": self._agreement.method,
            "prototypes": self._agreement.settings.prototypes,
            "rank": self._agreement.factors.rank,
            "silos": status["roster"],
            "items": self._agreement.n_items,
            **{key: promise[key] for key in ("private", "epsilon", "delta", "epsilon_in_two")},
            **{key: status[key] for key in ("messages_up", "messages_down", "bytes_up", "bytes_down")},
        }
        return factors

    def count_last_word(self, sent: int) -> None:
        """Nothing to add: the coordinator counts the factors."""

    def show(self, result: dict[str, Any]) -> None:
        """Tell people how the run ended."""
        show_factors("Prototypes of silos", result, self._out)


class FactorGuest:
    """A silo, and what it does with the factors."""

    def __init__(
        self, agreement: PrototypeAgreement, options: dict[str, Any], out: str | None, *, force: bool
    ) -> None:
        self._agreement, self._options = agreement, options
        self._out, self._force = out, force
        self.largest = largest(agreement)
        if out is not None:
            check_place(out, overwrite=force or Path(options["store"]).exists())

    def open(self) -> PrototypeSilo:
        """The silo."""
        catalogue = read_catalogue(self._options["catalogue"], self._agreement)
        ratings = read_silo_ratings(self._agreement, catalogue, self._options)
        return PrototypeSilo(Path(self._options["store"]), self._agreement, self._options["name"], ratings)

    def finish(self, silo: PrototypeSilo, last_word: bytes) -> None:
        """Check the factors, and save them if a place was named."""
        own = silo.statement()
        open_factors(last_word, self._agreement, own)
        if self._out is not None:
            statements = {} if own is None else {silo.name: own}
            save_factors(self._out, last_word, statements, overwrite=self._force)

    def answered(self, silo: PrototypeSilo) -> str:
        """What to say after the message has arrived."""
        status = silo.status()
        return f"the one message is sent ({status['bytes']:,} bytes); epsilon {status['epsilon_spent']:.4g} spent"

    def statement(self, silo: PrototypeSilo) -> Statement | None:
        """What the silo's users have paid, if anything."""
        return silo.statement()

    def show(self) -> None:
        """Tell people where the factors are."""
        if self._out is not None:
            printer().print(f"Factors saved to {self._out}", markup=False)


def show_factors(title: str, result: dict[str, Any], out: str) -> None:
    """Print a finished run as a table, and where the factors and each silo's statement are."""
    table = Table(title=title, title_justify="left", show_header=False)
    for key, value in result.items():
        if key not in ("accounts", "releases"):
            text = ", ".join(map(str, value)) if isinstance(value, list) else json.dumps(value).strip('"')
            table.add_row(key.replace("_", " "), text)
    console = printer()
    console.print(table)
    console.print(f"Saved to {out}; {STATEMENT} there says what each silo owes its users.", markup=False)
