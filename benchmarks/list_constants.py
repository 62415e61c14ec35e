"""What each constant and part of private EASE is worth: one at a time is set to something else, under the same noise.

    python -m benchmarks.list_constants [--data FOLDER] [--draws 2] [--only ml-1m,goodbooks,market]

Recall@20 of lists from clicks. A row says by how many per cent the recall changes; the first row is the recall of the
defaults. Under a fixed noise key the releases of two runs differ only where what is asked differs, so a change of less
than the noise of a run still shows. Writes ``benchmarks/results/list_constants.{md,json}``.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import clicks, market_clicks
from discreet import EASE, Budget, evaluate
from discreet.methods.ease.public import denoise, head, table, train
from discreet.privacy.gaussian.noise import Noise

RESULTS = Path(__file__).parent / "results"
TITLES = {"ml-1m": "ML-1M", "goodbooks": "goodbooks", "market": "market"}
Change = tuple[str, str, dict[tuple[Any, str], Any]]


def changes() -> list[Change]:
    """Name, what it is set to, and which names of which modules."""

    def everywhere(name: str, value: Any, *modules: Any) -> dict[tuple[Any, str], Any]:
        return {(module, name): value for module in modules}

    def quiet(rest: Any, shared: Any, sigma: float) -> Any:
        return np.zeros_like(rest)

    return [
        ("share of the counts, 5 %", "2 %", everywhere("COUNTS_SHARE", 0.02, train)),
        ("", "10 %", everywhere("COUNTS_SHARE", 0.1, train)),
        ("deviations in the head, 2", "1", everywhere("DEVIATIONS", 1.0, head)),
        ("", "4", everywhere("DEVIATIONS", 4.0, head)),
        ("least head, 100", "10", {(head.choose_head, "__defaults__"): (10,)}),
        ("ridges, 1 to 30", "1 alone", everywhere("RIDGES", (1.0,), train)),
        ("dropout, 1/3", "none", everywhere("DROPOUT", 0.0, table)),
        ("", "1/2", everywhere("DROPOUT", 0.5, table)),
        ("exponent, -0.15", "0", everywhere("EXPONENT", 0.0, train)),
        ("", "-0.3", everywhere("EXPONENT", -0.3, train)),
        ("share explained, 1/4", "1/8", everywhere("EXPLAINED", 0.125, table)),
        ("", "1/2", everywhere("EXPLAINED", 0.5, table)),
        ("constant that is left, 1/4", "1/8", everywhere("LEFT", 0.125, table)),
        ("", "1", everywhere("LEFT", 1.0, table)),
        ("entries a column, 300", "100", everywhere("ENTRIES", 100, train)),
        ("", "1,000", everywhere("ENTRIES", 1_000, train)),
        ("items that judge the ridge, 1,500", "500", everywhere("_JUDGED", 500, train)),
        ("noise added where ridges are judged, 1/2", "1", everywhere("_ADDED", 1.0, train)),
        ("entries by their own law", "linear alone", everywhere("expected_entries", quiet, denoise)),
        ("all denoising", "none", {(train, "denoised"): _as_released}),
    ]


def _as_released(noisy: Any, sigma: float, features: Any = None) -> denoise.Denoised:
    return denoise.Denoised(np.maximum(noisy, np.float32(0.0)), np.zeros(len(noisy)), None)


@contextmanager
def changed(values: dict[tuple[Any, str], Any]) -> Iterator[None]:
    """The names have these values for as long as it lasts."""
    before = {(place, name): getattr(place, name) for place, name in values}
    for (place, name), value in values.items():
        setattr(place, name, value)
    try:
        yield
    finally:
        for (place, name), value in before.items():
            setattr(place, name, value)


def recall(task: Any, epsilon: float, draw: int) -> float:
    noise = Noise.fixed_key_not_private(f"{task.name}-{epsilon}-{draw}")
    model = EASE(keep_sums=False).fit(task.train, Budget(epsilon, task.delta), rng=draw, noise=noise).model_
    return evaluate(model, task.test, history=task.history, k=20, only="rankings")["recall@20"].value


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--only", default="ml-1m,goodbooks,market")
    options = parser.parse_args()
    worlds = [(name, epsilon) for name in options.only.split(",") for epsilon in (1.0, 5.0)]
    rows = [("defaults", "", {}), *changes()]
    found: dict[str, list[float | None]] = {}
    for name in options.only.split(","):
        task = market_clicks() if name == "market" else clicks(options.data, name)
        for epsilon in (1.0, 5.0):
            base: list[float] = []
            for place, (part, value, what) in enumerate(rows):
                with changed(what):
                    scores = [recall(task, epsilon, draw) for draw in range(options.draws)]
                base = base or scores
                told = statistics.mean(scores)
                if place:
                    told = 100.0 * (told / statistics.mean(base) - 1.0)
                found.setdefault(f"{place}", []).append(told)
                print(f"{name}, epsilon {epsilon:g}, {part} {value}: {told:+.4f}", flush=True)
    head_line = " | ".join(f"{TITLES[name]} at {epsilon:g}" for name, epsilon in worlds)
    lines = [
        "# What the constants of EASE are worth\n",
        f"Written by `python -m benchmarks.list_constants`: Recall@20, {options.draws} draws, paired noise.",
        "The first row is the recall, the others say by how many per cent it changes.\n",
        f"| constant | set to | {head_line} |",
        "|---|---|" + "---:|" * len(worlds),
    ]
    for place, (part, value, _) in enumerate(rows):
        cells = [
            f"{told:.4f}" if place == 0 else f"{told:+.1f}" for told in found[f"{place}"] if told is not None
        ]
        lines.append(f"| {part} | {value} | {' | '.join(cells)} |")
    (RESULTS / "list_constants.md").write_text("\n".join(lines) + "\n")
    record = [
        {"part": part, "set to": value, "found": found[f"{place}"]}
        for place, (part, value, _) in enumerate(rows)
    ]
    worlds_named = [f"{name}-{epsilon:g}" for name, epsilon in worlds]
    (RESULTS / "list_constants.json").write_text(
        json.dumps({"worlds": worlds_named, "rows": record}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
