"""Flower's client: one silo, which answers the questions of the rounds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from discreet.errors import DiscreetError, Refused
from discreet.silos.flower.extra import flower, pack, unpack
from discreet.silos.flower.silo_files import SiloFiles
from discreet.silos.silo.silo import Silo

__all__ = ["client_app"]

T = TypeVar("T")

_log = logging.getLogger("flwr")


def client_app(open_silo: Callable[[SiloFiles], Silo] = SiloFiles.open) -> Any:
    """A ``ClientApp`` whose ``query`` says which silo a client stands for and whose ``train`` answers a question.

    Parameters
    ----------
    open_silo
        Opens the silo for one message; its store is closed again before the reply leaves.

    Notes
    -----
    **Privacy**. What is answered is stored first, with its charge: a client that Flower schedules twice sends the same
    bytes and pays once. A reply holds the answer or why the question was refused, which follows from the agreement
    and from releases. What else goes wrong stays in the client's own log: Flower would send an exception's words to
    the server, and they can quote ratings.
    """
    flwr = flower()
    app = flwr.clientapp.ClientApp()

    def who(message: Any, context: Any) -> Any:
        place = _guarded(lambda: SiloFiles.of(context))
        name = place.name if isinstance(place, SiloFiles) else ""
        return flwr.app.Message(pack({"silo": name}), reply_to=message)

    def answer(message: Any, context: Any) -> Any:
        question = unpack(message.content).get("question")
        reply = _guarded(lambda: _answer(open_silo, context, question)) or {"failed": "see the client's log"}
        return flwr.app.Message(pack(reply), reply_to=message)

    app.query()(who)
    app.train()(answer)
    return app


def _answer(
    open_silo: Callable[[SiloFiles], Silo], context: Any, question: object
) -> dict[str, str | bytes] | None:
    place = SiloFiles.of(context)
    if place is None or not isinstance(question, bytes):
        return {"refused": "this client has no silo" if place is None else "there is no question"}
    with open_silo(place) as silo:
        try:
            return {"answer": silo.answer(question)}
        except Refused as refusal:
            return {"refused": str(refusal)}


def _guarded(work: Callable[[], T]) -> T | None:
    """The outcome, or ``None`` with the reason in the log."""
    try:
        return work()
    except DiscreetError as error:
        _log.error("%s", error)
    except Exception:
        _log.exception("the silo has failed")
    return None
