"""The audit's gates that write down what is private before noise, with noise that repeats."""

from __future__ import annotations

from discreet.audit.pure import Record, Tape, change
from discreet.audit.pure import RecordingGate as _RecordingGate
from discreet.privacy.pure.noise import PureNoise

__all__ = ["Record", "RecordingGate", "Tape", "change"]


class RecordingGate(_RecordingGate):
    """The real gate, written down; with `replay` it gives out another run's outcomes instead of its own."""

    def __init__(self, epsilon: float, key: str, replay: Tape | None = None) -> None:
        super().__init__(epsilon, PureNoise(key=key.encode()), replay)
