"""Charts: axes, lines with dashes and marks of their own, bands, dots and words."""

from __future__ import annotations

import html
from collections.abc import Sequence

from discreet.pictures.axis import Axis, number

__all__ = ["Axis", "Chart"]

WIDTH = 440
_LEFT, _RIGHT, _BOTTOM, _LINE = 58, 26, 46, 17
# One look for each series, told apart by dashes and marks where colours cannot be.
_DASHES = ("", "7 4", "2 3", "10 3 2 3")
_MARKS = ("circle", "square", "triangle", "diamond")

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

    def dots(self, points: Points, name: str | None, look: int, *, size: float = 2.0) -> None:
        """Points without a line."""
        for point in points:
            self._parts.append(self._mark(*self._place(*point), look, size))
        if name is not None:
            self._legend.append((self._mark(15, 0, look, 3.5), name))

    def label(self, x: float, y: float, text: str, *, after: bool = True) -> None:
        """Words beside a point."""
        at, height = self._place(x, y)
        anchor, aside = ("start", 6) if after else ("end", -6)
        place = f"x='{at + aside:.1f}' y='{height + 4:.1f}' text-anchor='{anchor}'"
        self._parts.append(f"<text class='name' {place}>{html.escape(text)}</text>")

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies, in units of the picture; y grows downwards."""
        return self._place(x, y)

    def svg(self) -> str:
        """The picture; its look is in `discreet.pictures.style`."""
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
        shape, s = _MARKS[look], size
        if shape == "circle":
            return f"<circle class='mark k{look}' cx='{x:.1f}' cy='{y:.1f}' r='{s:g}'/>"
        if shape == "square":
            path = f"M{x - s:.1f} {y - s:.1f}h{2 * s:g}v{2 * s:g}h{-2 * s:g}z"
        elif shape == "triangle":
            path = f"M{x:.1f} {y - 1.2 * s:.1f}l{1.2 * s:.1f} {2.2 * s:.1f}h{-2.4 * s:.1f}z"
        else:
            d = 1.4 * s
            path = f"M{x:.1f} {y - d:.1f}l{d:.1f} {d:.1f}l{-d:.1f} {d:.1f}l{-d:.1f} {-d:.1f}z"
        return f"<path class='mark k{look}' d='{path}'/>"

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
                parts.append(
                    f"<text x='{at:.1f}' y='{bottom + 15}' text-anchor='middle'>{number(tick)}</text>"
                )
                last = at
        for tick in self.y.ticks:
            at = top + self._place(self.x.low, tick)[1]
            parts.append(f"<path class='grid' d='M{_LEFT} {at:.1f}H{right}'/>")
            parts.append(f"<text x='{_LEFT - 6}' y='{at + 4:.1f}' text-anchor='end'>{number(tick)}</text>")
        middle = (_LEFT + right) / 2
        parts.append(
            f"<text x='{middle}' y='{bottom + 34}' text-anchor='middle'>{html.escape(self.x.label)}</text>"
        )
        parts.append(
            f"<text transform='translate(14 {top + self._plot / 2}) rotate(-90)' text-anchor='middle'>"
            f"{html.escape(self.y.label)}</text>"
        )
        return parts
