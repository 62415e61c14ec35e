"""Draw ``docs/images/lists.png``, recall of lists against epsilon, from what ``benchmarks/accuracy.py`` measured.

python benchmarks/plot.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

ROOT = Path(__file__).parents[1]
PANELS = {
    "ml-1m-clicks": "MovieLens 1M, ratings as clicks (6,040 people)",
    "goodbooks-clicks": "goodbooks, ratings as clicks (53,424 people)",
}
METRIC, PRIVATE = "Recall@20", "#1f6f8b"


def draw(axes: Axes, table: dict[str, dict[str, dict[str, float]]], title: str) -> None:
    """One data set: private lists with the spread of their draws, between the two yardsticks."""
    points = sorted(
        (float(found.group(1)), cells[METRIC]["mean"], cells[METRIC]["spread"] or 0.0)
        for name, cells in table.items()
        if (found := re.fullmatch(r"private, epsilon ([\d.]+)", name))
    )
    x, mean, spread = zip(*points, strict=True)
    best = max(cells[METRIC]["mean"] for name, cells in table.items() if name.startswith("non-private"))
    for level, label, colour, style in (
        (best, "best without privacy", "#444444", "-"),
        (table["popularity, no noise"][METRIC]["mean"], "popularity, not private either", "#9a6b00", "--"),
    ):
        axes.axhline(level, color=colour, linestyle=style, linewidth=1.4)
        axes.annotate(
            label, (x[-1] * 1.55, level), xytext=(0, 4), textcoords="offset points", color=colour, ha="right"
        )
    axes.errorbar(x, mean, yerr=spread, marker="o", color=PRIVATE, capsize=3, linewidth=2.0)
    for at, value in zip(x, mean, strict=True):
        axes.annotate(
            f"{value:.3f}",
            (at, value),
            xytext=(4, -13),
            textcoords="offset points",
            color=PRIVATE,
            fontsize=9,
        )
    axes.annotate(
        "private",
        (x[0], mean[0]),
        xytext=(0, 9),
        textcoords="offset points",
        color=PRIVATE,
        ha="center",
        weight="bold",
    )
    axes.set_xscale("log")
    axes.set_xlim(x[0] / 1.4, x[-1] * 1.6)
    axes.set_xticks(x, [f"{tick:g}" for tick in x])
    axes.minorticks_off()
    axes.set_ylim(0.0, 1.15 * best)
    axes.set_title(title, fontsize=10)
    axes.set(xlabel="epsilon of the model", ylabel=METRIC)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    record = json.loads((ROOT / "benchmarks" / "results" / "accuracy.json").read_text())
    panels = {name: title for name, title in PANELS.items() if name in record}
    figure, grid = plt.subplots(1, len(panels), figsize=(4.9 * len(panels), 3.6), squeeze=False)
    for axes, (name, title) in zip(grid.flat, panels.items(), strict=True):
        draw(axes, record[name]["table"], title)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "lists.png", dpi=140)


if __name__ == "__main__":
    main()
