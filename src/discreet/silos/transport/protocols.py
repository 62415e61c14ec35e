"""What the transport asks of the two sides of a run, whatever is trained and however it is signed."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["CoordinatorSide", "SiloSide"]


class CoordinatorSide(Protocol):
    """The coordinator, on the server. Whatever a call changes is in a durable store before it returns."""

    def question(self) -> bytes | None:
        """What is asked now; ``None`` at the end."""

    def receive(self, silo_name: str, message: bytes) -> dict[str, Any]:
        """Take an answer, or refuse it."""

    def status(self) -> dict[str, Any]:
        """How far the run is, and whom it waits for."""

    def drop(self, *silo_names: str) -> None:
        """Go on without some silos, all of them or none."""

    def close(self) -> None:
        """Give the store back."""


class SiloSide(Protocol):
    """A silo, which is the client: it holds the ratings, calls the server and is never called."""

    name: str

    def answer(self, question: bytes) -> bytes:
        """The answer to a question, the same whenever it is asked again."""
