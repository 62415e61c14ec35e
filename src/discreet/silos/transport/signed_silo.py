"""A silo behind signatures: it answers what the server of the agreement has signed, and signs what it sends."""

from __future__ import annotations

from typing import Literal, Protocol

from discreet.errors import Refused
from discreet.silos.shared.seal import SERVER, SigningKey, open_seal

__all__ = ["Answers", "SignedSilo"]


class Answers(Protocol):
    """A silo, whatever is trained."""

    name: str

    def answer(self, question: bytes) -> bytes:
        """The answer to a question, the same whenever it is asked again."""


class SignedSilo:
    """A silo as the transports see it.

    Parameters
    ----------
    silo
        Holds the ratings.
    key
        The silo's own.

    Notes
    -----
    **Privacy.** A question that the server has not signed is refused before it is looked at: whoever carries
    messages cannot make a silo pay for a question that nobody else is asked, nor lock it out of the right one.
    """

    def __init__(self, silo: Answers, key: SigningKey) -> None:
        self._silo, self._key = silo, key
        self.name = silo.name

    def answer(self, question: bytes) -> bytes:
        """The signed answer to a signed question; where nothing is asked (prototypes, by hand), to no question."""
        body = self._opened("question", question) if question else b""
        return self._key.seal("answer", self._silo.answer(body))

    def model(self, message: bytes) -> bytes:
        """The message with the model, if the server has signed it."""
        return self._opened("model", message)

    def _opened(self, kind: Literal["question", "model"], message: bytes) -> bytes:
        opened = open_seal(self._key.agreement, message, kind)
        if opened.sender != SERVER:
            raise Refused(f"{opened.sender} has sent a {kind}; that is for the server alone")
        return opened.body
