"""A silo's side of a whole run over the network: answer what is asked until there is nothing left to ask."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from discreet.errors import Refused
from discreet.silos.transport.client import Client
from discreet.silos.transport.protocols import SiloSide

__all__ = ["participate"]


def participate(
    silo: SiloSide,
    client: Client,
    finish: Callable[[bytes], object],
    report: Callable[[], None] = lambda: None,
) -> None:
    """Answer questions until the server says that the run has finished.

    Parameters
    ----------
    silo
        Answers, or refuses; whatever was answered before is answered again with the same bytes.
    client
        Line to the server.
    finish
        Called with the message that has the model. Only when this has returned is the server told that it need not
        repeat it.
    report
        Called after every answer that the server has.

    Raises
    ------
    Refused
        When the server asks for something that was not agreed, or does not take an answer it still asks for.
    """
    answered, refusal = "", None
    while True:
        try:
            offer = client.question(answered)
        except Refused:
            client.take_leave()
            raise
        if offer is None:
            if refusal is not None:
                raise refusal
            continue
        if offer.finished:
            finish(offer.body)
            client.take_leave()
            return
        answer = silo.answer(offer.body)
        answered, refusal = hashlib.sha256(offer.body).hexdigest(), None
        try:
            client.answer(answer)
        except Refused as refused:
            # The round may have been repeated without this answer in the meantime: another question follows then.
            refusal = refused
        else:
            report()
