"""A picture of what audits found: lower bounds against claims, and membership inference as curves. Needs ``plots``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import SettingsInvalid

__all__ = ["draw"]

_COLOURS = ("#1f6f8b", "#b58900", "#8b1f4e", "#5b8f3a", "#444444", "#8fb8c6")
_MARKERS = ("o", "s", "^", "D", "v")


def draw(audits: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Draw what :meth:`discreet.audit.suite.Audit.as_json` gave, one or several, into a PNG, SVG or PDF file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SettingsInvalid(
            "a plot needs matplotlib; install it with: pip install 'discreet[plots]'"
        ) from None
    attacked = [audit for audit in audits if audit["membership"]]
    figure = Figure(figsize=(10.0 if attacked else 5.0, 4.2), layout="constrained")
    columns = figure.subplots(1, 2 if attacked else 1, squeeze=False)[0]
    _claims(columns[0], audits)
    if attacked:
        _curves(columns[1], attacked)
    figure.savefig(path, dpi=150)


def _claims(axes: Any, audits: Sequence[Mapping[str, Any]]) -> None:
    played = [audit for audit in audits if audit["games"]]
    most = max((float(audit["claimed"]) for audit in played), default=1.0)
    axes.plot([0.0, 1.1 * most], [0.0, 1.1 * most], color="#444444", linewidth=1.0, label="claimed")
    axes.fill_between([0.0, 1.1 * most], [0.0, 1.1 * most], 1.3 * most, color="#8b1f4e", alpha=0.08)
    names = sorted({str(audit["method"]) for audit in played})
    for number, name in enumerate(names):
        points = [(audit["claimed"], audit["lower_bound"]) for audit in played if audit["method"] == name]
        colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
        axes.plot(*zip(*points, strict=True), marker, color=colour, markersize=5, label=name)
    axes.set(xlabel="claimed epsilon", ylabel="epsilon found, at least", title="Distinguishing games")
    axes.set_xlim(0.0, 1.1 * most)
    axes.set_ylim(0.0, 1.3 * most)
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.25)


def _curves(axes: Any, audits: Sequence[Mapping[str, Any]]) -> None:
    for number, audit in enumerate(audits):
        colour = _COLOURS[number % len(_COLOURS)]
        for name, curve in audit["membership"].items():
            if name == "not private":
                if number == 0:
                    axes.plot(curve["alarms"], curve["hits"], color="#444444", label="not private (ALS)")
                continue
            limit = name == "limit"
            label = f"{audit['method']}, epsilon {audit['claimed']:g}" if not limit else None
            style = ":" if limit else "-"
            axes.plot(curve["alarms"], curve["hits"], style, color=colour, label=label)
    axes.plot([1e-3, 0.5], [1e-3, 0.5], color="#bbbbbb", linewidth=1.0, label="guessing")
    axes.set(xscale="log", yscale="log", xlabel="false alarms", ylabel="members recognised")
    axes.set_title("Membership inference (dotted: what mu allows anybody)", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.25)
