"""Draw ``docs/images/accuracy.png`` from what ``benchmarks/accuracy.py`` measured.

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
    "jester": ("Jester (24,983 users, 100 jokes)", "test RMSE"),
    "ml-1m": ("MovieLens 1M (6,040 users, 3,883 films)", "test RMSE"),
    "low-rank-5000": ("DPALS paper's synthetic world (5,000 users)", "test RMSE"),
    "ml-1m-lists": ("MovieLens 1M, lists from ratings", "Recall@20"),
}
LINES = {
    "non-private ALS": ("non-private ALS", "#444444", "-"),
    "user mean (free)": ("each user's own mean (free)", "#b58900", "--"),
    "popularity, no noise": ("popularity, no noise", "#b58900", "--"),
}


def draw(axes: Axes, table: dict[str, dict[str, dict[str, float]]], title: str, metric: str) -> None:
    key = "Recall@20" if "Recall" in metric else "RMSE"
    for start, label, colour in (
        ("private", "private (default)", "#1f6f8b"),
        ("offsets alone", "private, offsets alone", "#8fb8c6"),
        ("popularity", "popularity at the same price", "#8fb8c6"),
    ):
        points = sorted(
            (float(found.group(1)), cells[key]["mean"], cells[key]["spread"] or 0.0)
            for name, cells in table.items()
            if name.startswith(start) and (found := re.search(r"epsilon ([\d.]+)$", name))
        )
        if points:
            x, mean, spread = zip(*points, strict=True)
            axes.errorbar(
                x, mean, yerr=spread, marker="o", color=colour, label=label, capsize=3, linewidth=1.8
            )
    for name, (label, colour, style) in LINES.items():
        if name in table:
            axes.axhline(table[name][key]["mean"], color=colour, linestyle=style, linewidth=1.2, label=label)
    axes.set_xscale("log")
    ticks = sorted(
        {float(found.group(1)) for name in table if (found := re.search(r"epsilon ([\d.]+)$", name))}
    )
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set(title=title, xlabel="epsilon", ylabel=metric)
    axes.title.set_fontsize(10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, framealpha=0.9, edgecolor="none")
    axes.margins(y=0.12)


def main() -> None:
    record = json.loads((ROOT / "benchmarks" / "results" / "accuracy.json").read_text())
    panels = {name: panel for name, panel in PANELS.items() if name in record}
    figure, grid = plt.subplots(
        -(-len(panels) // 2), 2, figsize=(9.5, 3.7 * (-(-len(panels) // 2))), squeeze=False
    )
    for axes, (name, (title, metric)) in zip(grid.flat, panels.items(), strict=False):
        draw(axes, record[name]["table"], title, metric)
    figure.tight_layout()
    folder = ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "accuracy.png", dpi=140)


if __name__ == "__main__":
    main()
