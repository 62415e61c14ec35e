"""The coordinator behind signatures: what goes out is signed by the server, what comes in by one of the silos."""

from __future__ import annotations

from typing import Any, Protocol

from discreet.errors import Refused
from discreet.silos.shared.base_agreement import BaseAgreement
from discreet.silos.shared.seal import Opened, SigningKey, check_has_keys, open_seal

__all__ = ["Run", "SignedRun"]


class Run(Protocol):
    """A coordinator, whatever is trained."""

    def question(self) -> bytes | None:
        """What is asked now; ``None`` at the end."""

    def receive(self, silo_name: str, body: bytes) -> dict[str, Any]:
        """Take an answer from a silo, or refuse it."""

    def status(self) -> dict[str, Any]:
        """How far the run is, and whom it waits for."""

    def drop(self, *silo_names: str) -> None:
        """Go on without some silos, all of them or none."""

    def close(self) -> None:
        """Give the store back."""


class SignedRun:
    """A run as the transports see it: nothing passes that is not signed for this agreement.

    Parameters
    ----------
    run
        The coordinator.
    agreement
        With everybody's keys.
    key
        The server's; ``None`` where nothing is sent.

    Notes
    -----
    **Privacy.** What a silo sends is private as it is, whoever gets it. Signatures keep strangers from spending a
    silo's place: an answer in its name that it never gave would spoil the sum.
    """

    def __init__(self, run: Run, agreement: BaseAgreement, key: SigningKey | None) -> None:
        check_has_keys(agreement)
        self.run = run
        self._agreement, self._key = agreement, key
        self.status, self.drop, self.close = run.status, run.drop, run.close

    def question(self) -> bytes | None:
        """What is asked now, signed; ``None`` at the end."""
        question = self.run.question()
        if question is None:
            return None
        assert self._key is not None
        return self._key.seal("question", question)

    def receive(self, silo_name: str | None, message: bytes) -> dict[str, Any]:
        """Take a signed answer; without a name it is the signature alone that says whose it is."""
        opened = open_seal(self._agreement, message, "answer")
        _check_sender(opened, silo_name)
        return self.run.receive(opened.sender, opened.body)


def _check_sender(opened: Opened, silo_name: str | None) -> None:
    if silo_name is not None and opened.sender != silo_name:
        raise Refused(
            f"{silo_name} sent a message in the name of {opened.sender}: the pass is another silo's"
        )
