"""One look for all pictures. Needs matplotlib, the extra ``plots``, which is loaded when the first picture is drawn."""

from __future__ import annotations

import importlib
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import SettingsInvalid
from reproduction.scoring import Draws

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

COLOURS = (
    "#1f6f8b",
    "#d1603d",
    "#5b8c5a",
    "#7d5ba6",
    "#b58900",
    "#444444",
    "#c2477f",
    "#3b9c9c",
    "#8a6d3b",
    "#9aa5b1",
)
"""In order of use; legible for the colour-blind beside each other, markers tell them apart as well."""
MARKERS = ("o", "s", "^", "v", "P", "X", "*", "h", "d", "<")
PUBLISHED = "#111111"

_STYLE = {
    "figure.dpi": 140,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "errorbar.capsize": 3,
    "legend.fontsize": 8.5,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "none",
    "svg.hashsalt": "discreet",
}


@contextmanager
def style() -> Iterator[None]:
    """Everything drawn inside has the common look."""
    try:
        matplotlib = importlib.import_module("matplotlib")
    except ImportError:
        raise SettingsInvalid(
            "pictures need matplotlib: install the extra plots, with pip install 'discreet[plots]'"
        ) from None
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": "agg", **_STYLE}):
        yield


def panels(
    columns: int = 1, rows: int = 1, *, width: float = 4.8, height: float = 3.7, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure and its axes, row by row; width and height are one panel's, in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(axes.flat)


def curve(
    axes: Axes,
    x: Iterable[float],
    y: Iterable[float | Draws],
    spread: Sequence[float] | None = None,
    *,
    label: str,
    number: int,
    **options: Any,
) -> None:
    """One method's line in the colour and with the marker of its number; draws, or ``spread``, give error bars."""
    look = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)], **options}
    points = list(y)
    draws = [point for point in points if isinstance(point, Draws)]
    spread = [one.spread for one in draws] if draws else spread
    bars = None if spread is None else [0.0 if math.isnan(s) else s for s in spread]
    means = [point.mean if isinstance(point, Draws) else point for point in points]
    axes.errorbar(list(x), means, yerr=bars, label=label, **look)


def curves(axes: Axes, lines: Mapping[str, Mapping[float, Draws]], names: Iterable[str]) -> None:
    """The lines of these names, each from what is on the x axis to its draws."""
    for number, name in enumerate(names):
        curve(axes, list(lines[name]), list(lines[name].values()), label=name, number=number)


def published(axes: Axes, x: Sequence[float], y: Sequence[float], label: str = "published") -> None:
    """Numbers that the paper prints: hollow diamonds, without a line of our own between them."""
    axes.plot(
        x,
        y,
        linestyle="none",
        marker="D",
        markersize=7,
        markerfacecolor="none",
        markeredgewidth=1.5,
        color=PUBLISHED,
        label=label if "published" in label else f"published: {label}",
    )


def published_elsewhere(
    axes: Axes, x: Sequence[float], y: Sequence[float], *, source: str, xlabel: str, spread: Any = None
) -> None:
    """A panel of its own for what was published on data that are not at hand: no scale is shared with ours."""
    axes.errorbar(
        x,
        y,
        yerr=spread,
        linestyle="--",
        linewidth=1.0,
        marker="D",
        markersize=6,
        markerfacecolor="none",
        markeredgewidth=1.5,
        color=PUBLISHED,
    )
    axes.set_facecolor("#f4f2ec")
    axes.set_title(f"Published, on other data:\n{source}", fontsize=9.5)
    axes.set_xlabel(xlabel)
    axes.margins(0.12)


def baseline(
    axes: Axes, value: float, label: str, *, number: int = 5, linestyle: str = "--", spread: float = math.nan
) -> None:
    """A level that does not depend on what is on the x axis; ``spread`` gives a band."""
    if not math.isnan(spread):
        axes.axhspan(
            value - spread, value + spread, color=COLOURS[number % len(COLOURS)], alpha=0.15, linewidth=0
        )
    axes.axhline(value, color=COLOURS[number % len(COLOURS)], linestyle=linestyle, linewidth=1.3, label=label)


def epsilon_axis(axes: Axes, epsilons: Sequence[float], label: str = "epsilon") -> None:
    """A logarithmic axis with a tick at each budget that was run."""
    axes.set_xscale("log")
    ticks = sorted(set(epsilons))
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel(label)


def log_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """A logarithmic axis with plain numbers at 1, 2, 5, 10, 20 and so on."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))


def label_lines(axes: Axes) -> None:
    """The names of the lines, to the right of the panel."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0)


def mark_as_quick(figure: Figure, trials: int | None, draws: int | None) -> None:
    """Say across the picture that its numbers mean little, and of how few trials and draws they are."""
    counted = [f"{number} {what}" for number, what in ((trials, "trials"), (draws, "draws")) if number]
    text = "QUICK RUN" + (f"\n{', '.join(counted)}" if counted else "")
    figure.text(
        0.5, 0.5, text, fontsize=26, color="#b02020", alpha=0.16, rotation=20, ha="center", va="center"
    )


def image(figure: Figure) -> bytes:
    """The picture as SVG: the same bytes for the same numbers, no date inside."""
    content = io.BytesIO()
    with style():
        figure.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()
