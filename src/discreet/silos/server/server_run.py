"""A run on the server, from its store to a saved model, whichever method was agreed on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from discreet.catalogue import Catalogue, ItemFeatures
from discreet.model import Model
from discreet.privacy.statement_parts import Release
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.prototype_coordinator import PrototypeCoordinator
from discreet.silos.shared.agreements import AnyAgreement
from discreet.silos.shared.model_message import encode_model
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.saving import check_out, save_once

__all__ = ["AnyCoordinator", "ServerRun", "open_coordinator"]

AnyCoordinator: TypeAlias = Coordinator | PrototypeCoordinator


def open_coordinator(
    agreement: AnyAgreement, store: Path, features: ItemFeatures | None = None
) -> AnyCoordinator:
    """The coordinator of the agreed method, with all that its store remembers."""
    if isinstance(agreement, PrototypeAgreement):
        return PrototypeCoordinator(store, agreement)
    return Coordinator(store, agreement, features=features)


class ServerRun:
    """Begins or goes on with a run, and saves its model once.

    Parameters
    ----------
    agreement, catalogue
        What was agreed on, and the items.
    store
        File of the coordinator's own.
    out, force
        Folder for the model, and whether another model there may be replaced.

    Attributes
    ----------
    model, result
        The model, and what the server knows about the run, all of it public; ``None`` until it has finished.
    """

    def __init__(
        self, agreement: AnyAgreement, catalogue: Catalogue, store: Path, out: str | Path, *, force: bool
    ) -> None:
        check_out(out, begun=store.exists(), overwrite=force)
        self._agreement, self._catalogue, self._store = agreement, catalogue, store
        self._out, self._force = out, force
        self.model: Model | None = None
        self.result: dict[str, Any] | None = None

    def begin(self) -> AnyCoordinator:
        """The coordinator."""
        return open_coordinator(self._agreement, self._store, self._catalogue.features)

    def finish(self, coordinator: AnyCoordinator) -> bytes:
        """Save the model; the message that takes it to the silos."""
        self.model = coordinator.model(self._catalogue)
        save_once(self.model, self._out, overwrite=self._force)
        self.result = _summary(coordinator, self.model)
        return encode_model(self.model, self._agreement)

    def count_models(self, silos: int, size: int) -> None:
        """Add the messages with the model that silos were sent: how many, and bytes of all of them."""
        if self.result is None:
            return
        self.result |= {"bytes_down": self.result["bytes_down"] + size, "model_bytes_down": size}
        if "messages_down" in self.result:
            self.result["messages_down"] = silos


def _cost(release: Release) -> dict[str, Any]:
    if release.epsilon > 0.0:
        return {"name": release.name, "epsilon": release.epsilon}
    return {"name": release.name, "mu": release.mu}


def _summary(coordinator: AnyCoordinator, model: Model) -> dict[str, Any]:
    """What is known about a finished run whose model nobody has been sent yet."""
    status, statement = coordinator.status(), model.statement
    common = {
        "method": model.method,
        "goal": model.goal,
        "rank": model.item_side.rank,
        "rounds": status["rounds"],
        "silos": list(status["roster"]),
        "items": model.item_side.n_items,
        "epsilon": statement.epsilon,
        "delta": statement.delta,
        "mu": statement.mu,
        "epsilon_in_two": statement.silos.epsilon_in_two if statement.silos is not None else None,
        "releases": [_cost(release) for release in statement.releases],
        "private": statement.private,
        "bytes_up": status["bytes_up"],
        "bytes_down": status["bytes_down"],
        "model_bytes_down": 0,
        "traffic": coordinator.traffic(),
    }
    if isinstance(coordinator, PrototypeCoordinator):
        prototypes = coordinator.agreement.settings.most_prototypes
        common |= {"prototypes": prototypes, "messages_up": status["messages_up"], "messages_down": 0}
    return common
