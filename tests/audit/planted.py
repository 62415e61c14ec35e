"""Mechanisms with half the noise they claim: an audit that does not refute them is worth nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.audit.pure import RecordingGate, Tape
from discreet.devices.device.answer import answer
from discreet.devices.device.question import Question
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.pure.noise import PureNoise
from discreet.types import Floats, Ints

__all__ = ["HalfNoise", "bold_answer", "half_noise_gate"]


class HalfNoise(Noise):
    """Normal numbers of half the scale. Not private."""

    def normals(self, size: int) -> Floats:
        """Half of what was asked for."""
        return 0.5 * super().normals(size)


class _HalfPureNoise(PureNoise):
    def _draw(self, rate: Fraction, size: int, *, two_sided: bool) -> Ints:
        return super()._draw(2 * rate, size, two_sided=two_sided)


def half_noise_gate(epsilon: float, replay: Tape | None) -> RecordingGate:
    """A gate without delta whose noise has half the scale. Not private."""
    return RecordingGate(epsilon, _HalfPureNoise(), replay)


def bold_answer(question: Question, ratings: Mapping[int, float], device_id: bytes) -> int:
    """A device that flips its bit as if the question might cost twice as much. Not private."""
    return answer(replace(question, epsilon=min(20.0, 2.0 * question.epsilon)), ratings, device_id)
