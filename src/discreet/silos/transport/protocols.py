"""What the transport asks of the two sides of a run, whatever is trained."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["CoordinatorSide", "SiloSide"]


class CoordinatorSide(Protocol):
    """The coordinator, on the server. Whatever a call changes is in a durable store before it returns."""

    def question(self) -> bytes | None:
        """What is asked now; ``None`` at the end."""

    def register(self, silo_name: str, store_id: str) -> None:
        """Serve this store of a silo and no other, or refuse it."""

    def receive(self, silo_name: str, body: bytes, store_id: str = "") -> dict[str, Any]:
        """Take an answer from a silo's store, or refuse it."""

    def status(self) -> dict[str, Any]:
        """How far the run is, and whom it waits for."""

    def drop(self, *silo_names: str) -> None:
        """Go on without some silos, all of them or none."""

    def close(self) -> None:
        """Give the store back."""


class SiloSide(Protocol):
    """A silo, which is the client: it holds the ratings, calls the server and is never called."""

    name: str

    @property
    def store_id(self) -> str:
        """Of the silo's store."""

    def answer(self, question: bytes) -> bytes:
        """The answer to a question, the same whenever it is asked again."""

    def learn_of_second_store(self, reason: str) -> None:
        """Another store of this silo is in the run: own up to what that may have cost."""
