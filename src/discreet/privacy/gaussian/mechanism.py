"""What a Gaussian mechanism is: public fields, private arguments, and a bound that holds for any input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.gate import Gate
from discreet.types import Floats

__all__ = ["Mechanism", "release"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Mechanism(Protocol[T_co]):
    """One kind of release. Its fields are public; what is private comes as arguments.

    ``blocks(*private)`` turns private arrays into integer blocks whose energies add up to at most 1 for every user,
    whatever the arrays hold.
    """

    @property
    def blocks(self) -> Any:
        """Integer contributions from private arrays."""

    def empty(self) -> Sequence[Block]:
        """The same blocks without any users: names, shapes, units and noise, from public facts alone."""

    def read(self, released: Mapping[str, Floats], mu: float) -> T_co:
        """What came out of the gate in real units; ``mu`` says how large the noise is."""


def release(gate: Gate, name: str, mechanism: Mechanism[T], *private: Any, mu: float) -> T:
    """Contribute, release and read in one go, where all users are here."""
    return mechanism.read(gate.release(name, mechanism.blocks(*private), mu=mu), mu)
