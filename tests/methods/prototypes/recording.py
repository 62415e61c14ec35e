"""Gates that write down what is private before noise: the audit's own."""

from __future__ import annotations

from discreet.audit.pure_recording import Record, RecordingGate, Tape, change

__all__ = ["Record", "RecordingGate", "Tape", "change"]
