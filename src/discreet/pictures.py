"""Charts as SVG, made here: no library, no script, no font; readable without colour, by dashes and marks."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["STYLE", "Axis", "Chart", "standalone"]

# Colours that are told apart by colour-blind readers (Okabe and Ito), light and dark.
_LIGHT = (
    "--paper: #fff; --ink: #1b2430; --soft: #536072; --line: #d5dbe3; "
    "--k0: #0b5fa5; --k1: #b34700; --k2: #1b2430; --k3: #00735a;"
)
_DARK = (
    "--paper: #12171e; --ink: #e8edf3; --soft: #a5b1c0; --line: #323c49; "
    "--k0: #79b8ff; --k1: #ffb454; --k2: #e8edf3; --k3: #4fd1ab;"
)

STYLE = f"""
:root {{ {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
@media print {{ :root {{ {_LIGHT} }} }}
svg.chart text {{ fill: var(--soft); font: 12px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }}
svg.chart .frame {{ fill: none; stroke: var(--line); }}
svg.chart .grid {{ fill: none; stroke: var(--line); stroke-width: .7; }}
svg.chart .line {{ fill: none; stroke-width: 2; }}
svg.chart .band {{ fill: var(--k0); fill-opacity: .16; stroke: none; }}
svg.chart .line.k0 {{ stroke: var(--k0); }} svg.chart .mark.k0 {{ fill: var(--k0); }}
svg.chart .line.k1 {{ stroke: var(--k1); }} svg.chart .mark.k1 {{ fill: var(--k1); }}
svg.chart .line.k2 {{ stroke: var(--k2); }} svg.chart .mark.k2 {{ fill: var(--k2); }}
svg.chart .line.k3 {{ stroke: var(--k3); }} svg.chart .mark.k3 {{ fill: var(--k3); }}
"""
"""For the page that has pictures in it."""


def standalone(svg: str) -> str:
    """A picture as a file of its own, on paper of its own colour."""
    start = svg.index(">") + 1
    paper = "<rect width='100%' height='100%' style='fill: var(--paper)'/>"
    style = STYLE.replace(":root", "svg")
    return (
        f"<?xml version='1.0' encoding='UTF-8'?>\n{svg[:start]}<style>{style}</style>{paper}{svg[start:]}\n"
    )


_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def _number(value: float) -> str:
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
        return cls(label, min(values) / 1.3, max(values) * 1.3, tuple(sorted(set(values))), log=True)

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


WIDTH = 440
_LEFT, _RIGHT, _BOTTOM, _LINE = 58, 26, 46, 17
# One look for each series, told apart by dashes and marks where colours cannot be.
_DASHES = ("", "7 4", "2 3", "10 3 2 3")
_MARKS = (  # circle, square, triangle, diamond; around their middle, in units of their size
    "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0 -2 0",
    "M-1 -1h2v2h-2z",
    "M0 -1.2l1.2 2.2h-2.4z",
    "M0 -1.4l1.4 1.4l-1.4 1.4l-1.4 -1.4z",
)

Points = Sequence[tuple[float, float]]


class Chart:
    """A picture of two axes; say what it shows in ``words`` for who cannot see it."""

    def __init__(self, x: Axis, y: Axis, words: str, *, height: int = 250) -> None:
        self.x, self.y, self.words = x, y, words
        self._plot = height
        self._parts: list[str] = []
        self._legend: list[tuple[str, str]] = []

    def line(self, points: Points, name: str, look: int, *, marks: bool = True) -> None:
        """A series; ``look`` (0 to 3) sets dashes, mark and colour."""
        places = [self._place(*point) for point in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dash = f" stroke-dasharray='{_DASHES[look]}'" if _DASHES[look] else ""
        self._parts.append(f"<polyline class='line k{look}'{dash} points='{path}'/>")
        if marks:
            self._parts += [self._mark(x, y, look) for x, y in places]
        sample = f"<path class='line k{look}'{dash} d='M0 0h30'/>" + (
            self._mark(15, 0, look) if marks else ""
        )
        self._legend.append((sample, name))

    def band(self, lower: Points, upper: Points, name: str) -> None:
        """From one line to another."""
        around = [*lower, *reversed(upper)]
        path = " ".join("{:.1f},{:.1f}".format(*self._place(*point)) for point in around)
        self._parts.append(f"<polygon class='band' points='{path}'/>")
        self._legend.append(("<rect class='band' x='0' y='-5' width='30' height='10'/>", name))

    def level(self, value: float, name: str, look: int) -> None:
        """A line straight across."""
        self.line([(self.x.low, value), (self.x.high, value)], name, look, marks=False)

    def dots(self, points: Points, name: str, look: int) -> None:
        """Points without a line."""
        self._parts += [self._mark(*self._place(*point), look, 2.0) for point in points]
        self._legend.append((self._mark(15, 0, look), name))

    def svg(self) -> str:
        """The picture; its look is in `STYLE`."""
        height = self._top + self._plot + _BOTTOM
        return (
            f"<svg class='chart' xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' role='img' "
            f"aria-label='{html.escape(self.words, quote=True)}'>"
            + "".join(self._legend_rows())
            + "".join(self._axes())
            + f"<g transform='translate(0 {self._top})'>{''.join(self._parts)}</g></svg>"
        )

    @property
    def _top(self) -> int:
        return _LINE * len(self._legend) + 8

    def _place(self, x: float, y: float) -> tuple[float, float]:
        width = WIDTH - _LEFT - _RIGHT
        return _LEFT + width * self.x.share(x), self._plot * (1.0 - self.y.share(y))

    def _mark(self, x: float, y: float, look: int, size: float = 3.6) -> str:
        place = f"translate({x:.1f} {y:.1f}) scale({size:g})"
        return f"<path class='mark k{look}' transform='{place}' d='{_MARKS[look]}'/>"

    def _legend_rows(self) -> list[str]:
        return [
            f"<g transform='translate({_LEFT} {10 + _LINE * row})'>{sample}"
            f"<text x='38' y='4'>{html.escape(name)}</text></g>"
            for row, (sample, name) in enumerate(self._legend)
        ]

    def _axes(self) -> list[str]:
        top, bottom, right = self._top, self._top + self._plot, WIDTH - _RIGHT
        parts = [f"<rect class='frame' x='{_LEFT}' y='{top}' width='{right - _LEFT}' height='{self._plot}'/>"]
        last = -100.0
        for tick in self.x.ticks:
            at = self._place(tick, self.y.low)[0]
            parts.append(f"<path class='grid' d='M{at:.1f} {top}V{bottom}'/>")
            if at - last >= 26:  # room for the words
                parts.append(_text(f"x='{at:.1f}' y='{bottom + 15}' text-anchor='middle'", _number(tick)))
                last = at
        for tick in self.y.ticks:
            at = top + self._place(self.x.low, tick)[1]
            parts.append(f"<path class='grid' d='M{_LEFT} {at:.1f}H{right}'/>")
            parts.append(_text(f"x='{_LEFT - 6}' y='{at + 4:.1f}' text-anchor='end'", _number(tick)))
        below = f"x='{(_LEFT + right) / 2}' y='{bottom + 34}'"
        beside = f"transform='translate(14 {top + self._plot / 2}) rotate(-90)'"
        parts.append(_text(f"{below} text-anchor='middle'", self.x.label))
        parts.append(_text(f"{beside} text-anchor='middle'", self.y.label))
        return parts


def _text(where: str, words: str) -> str:
    return f"<text {where}>{html.escape(words)}</text>"
