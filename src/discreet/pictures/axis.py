"""An axis: from values to places, and where its ticks are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Axis", "number"]

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def number(value: float) -> str:
    """A number as short as an axis has room for."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


@dataclass(frozen=True)
class Axis:
    """One direction of a chart.

    Parameters
    ----------
    label
        What is shown, with its unit.
    low, high
        Ends; ``low < high``, and above zero where ``log``.
    ticks
        Values to mark.
    log
        Equal steps are equal factors.
    """

    label: str
    low: float
    high: float
    ticks: tuple[float, ...] = ()
    log: bool = False

    @classmethod
    def over(cls, label: str, values: Sequence[float], *, ticks: int = 5) -> Axis:
        """Linear, with room for all values and round ticks."""
        low, high = min(values), max(values)
        if not low < high:
            low, high = low - max(abs(low), 1.0) * 0.1, high + max(abs(high), 1.0) * 0.1
        raw = (high - low) / ticks
        scale = 10.0 ** math.floor(math.log10(raw))
        step = next(scale * one for one in _STEPS if scale * one >= raw * (1.0 - 1e-9))
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        return cls(label, first * step, last * step, tuple(one * step for one in range(first, last + 1)))

    @classmethod
    def by_factors(cls, label: str, values: Sequence[float]) -> Axis:
        """Logarithmic, with the values themselves as ticks."""
        low, high = min(values), max(values)
        return cls(label, low / 1.3, high * 1.3, tuple(sorted(set(values))), log=True)

    @classmethod
    def decades(cls, label: str, values: Sequence[float]) -> Axis:
        """Logarithmic, with powers of ten as ends and ticks."""
        first = math.floor(math.log10(min(values)))
        last = max(math.ceil(math.log10(max(values))), first + 1)
        return cls(
            label, 10.0**first, 10.0**last, tuple(10.0**one for one in range(first, last + 1)), log=True
        )

    def share(self, value: float) -> float:
        """Where a value lies: 0 at the lower end, 1 at the upper; what lies beyond is brought to the end."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        at = math.log(max(value, self.low)) if self.log else value
        return min(max((at - low) / (high - low), 0.0), 1.0)
