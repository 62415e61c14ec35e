"""Flower's server: the coordinator, asking the silos through Flower's grid."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import Refused, SettingsInvalid, Unreachable
from discreet.model import Model
from discreet.silos.flower.extra import flower, pack, unpack
from discreet.silos.flower.run_files import RunFiles
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.saving import check_out, save_once

__all__ = ["server_app", "train"]

_PATIENCE_SECONDS = 600.0
_GATHER_SECONDS, _LOOK_SECONDS = 10.0, 1.0
_TIMES_ASKED = 3

_log = logging.getLogger("flwr")


def server_app() -> Any:
    """A ``ServerApp`` that trains and saves the model; see :func:`train` for the run config."""
    flwr = flower()
    app = flwr.serverapp.ServerApp()

    def main(grid: Any, context: Any) -> None:
        train(grid, context.run_config)

    app.main()(main)
    return app


def train(grid: Any, run_config: Mapping[str, Any]) -> Model:
    """Run the agreement's rounds over Flower's grid, save the model and return it.

    Parameters
    ----------
    grid
        Of the ServerApp.
    run_config
        RunFiles of the files (:meth:`RunFiles.of`), and ``patience``: how many seconds to wait for clients.

    Raises
    ------
    Refused
        When a silo refuses a question.
    Unreachable
        When silos stay away. The coordinator's store has all that came: the next run goes on from there, after
        ``discreet federate drop`` without them.
    """
    places, patience = RunFiles.of(run_config), _patience(run_config)
    agreement, catalogue = places.read()
    check_out(places.out, begun=places.store.exists(), overwrite=False)
    with Coordinator(places.store, agreement, features=catalogue.features) as coordinator:
        nodes: dict[str, int] | None = None
        while (question := coordinator.question()) is not None:
            status = coordinator.status()
            if nodes is None:
                nodes = _find(grid, status["roster"], patience)
            _log.info("round %s, attempt %s", status["round"], status["attempt"])
            _ask(grid, coordinator, question, nodes, patience)
        model = coordinator.model(catalogue)
        status = coordinator.status()
    save_once(model, places.out, overwrite=False)
    _log.info(
        "the model is in %s; %s bytes up, %s bytes down", places.out, status["bytes_up"], status["bytes_down"]
    )
    return model


def _find(grid: Any, roster: Sequence[str], patience: float) -> dict[str, int]:
    """Ask every client which silo it stands for, until all silos are there."""
    deadline = time.monotonic() + _GATHER_SECONDS
    asked: set[int] = set()
    nodes: dict[str, int] = {}
    while True:
        new = sorted(set(grid.get_node_ids()) - asked)
        for node, fields in _exchange(grid, "query", {node: {} for node in new}, patience).items():
            asked.add(node)
            name = fields.get("silo")
            if not isinstance(name, str) or not name:
                continue
            if name in nodes:
                raise Refused(f"two clients say that they are {name}")
            nodes[name] = node
        missing = [name for name in roster if name not in nodes]
        if not missing:
            return nodes
        if time.monotonic() > deadline:
            raise Unreachable(
                f"no client stands for {', '.join(missing)}; the simulation needs {len(roster)} clients or more "
                "(num-supernodes), and their logs say what else is wrong"
            )
        time.sleep(_LOOK_SECONDS)


def _ask(
    grid: Any, coordinator: Coordinator, question: bytes, nodes: Mapping[str, int], patience: float
) -> None:
    """Have a round's question answered by all silos that have not answered it yet."""
    pending: list[str] = coordinator.status()["waiting_for"]
    for _ in range(_TIMES_ASKED):
        messages = {nodes[name]: {"question": question} for name in pending}
        replies = _exchange(grid, "train", messages, patience)
        for name in list(pending):
            fields = replies.get(nodes[name], {})
            if "refused" in fields:
                raise Refused(f"{name} refuses to answer: {fields['refused']}")
            if isinstance(answer := fields.get("answer"), bytes):
                coordinator.receive(name, answer)
                pending.remove(name)
        if not pending:
            return
    raise Unreachable(
        f"no answer from {', '.join(pending)} (their logs say why, if they are there); what was answered is kept, and "
        "the next run with the same stores goes on from here"
    )


def _exchange(
    grid: Any, kind: str, fields: Mapping[int, Mapping[str, str | bytes]], patience: float
) -> dict[int, dict[str, Any]]:
    """What each node replies; nodes that fail or stay silent are left out."""
    if not fields:
        return {}
    message = flower().app.Message
    sent = [
        message(pack(content), dst_node_id=node, message_type=kind, ttl=patience)
        for node, content in fields.items()
    ]
    replies = {}
    for reply in grid.send_and_receive(sent, timeout=patience):
        if reply.has_error():
            _log.warning("client %s: %s", reply.metadata.src_node_id, reply.error.reason)
        else:
            replies[reply.metadata.src_node_id] = unpack(reply.content)
    return replies


def _patience(run_config: Mapping[str, Any]) -> float:
    value = run_config.get("patience", _PATIENCE_SECONDS)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise SettingsInvalid(f"patience in the run config must be a number of seconds, and is {value!r}")
    return float(value)
