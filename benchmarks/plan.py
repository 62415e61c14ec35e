"""Is ``discreet plan`` honest? Its expectations beside what training then gives.

    python -m benchmarks.plan [--only ml-1m,jester,goodbooks]

Plans with the sizes of published sets, which are typed in here: no rating is read. What training gives on the sets
themselves is in ``benchmarks/results/accuracy.json``. Every plan is made twice, with a usual spread of the ratings and
with the set's own. Writes ``benchmarks/results/plan.{json,md}``; with --only the others stay as they are.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from discreet import plan

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Known:
    """A published set: its sizes, the standard deviation of its ratings, and the unit of the recorded errors."""

    title: str
    users: int
    items: int
    ratings_per_user: float
    rating_range: tuple[float, float]
    head_share: float
    spread: float
    epsilons: tuple[float, ...]
    delta: float
    unit: float = 1.0


SETS = {
    "ml-1m": Known("MovieLens 1M", 6_040, 3_706, 166, (1, 5), 0.7, 1.117, (1.0, 5.0, 20.0), 1e-5),
    "jester": Known("Jester 1, part 1", 24_983, 100, 72, (-10, 10), 0.28, 5.236, (0.1, 0.5, 1.0), 1e-6, 0.25),
    "goodbooks": Known("goodbooks", 53_424, 10_000, 18.3, (1, 5), 0.21, 0.984, (1.0, 5.0, 20.0), 1e-5),
}


def compare(name: str) -> dict[str, Any]:
    """Planned and trained errors of a set, in the unit of the record."""
    known = SETS[name]
    trained = json.loads((RESULTS / "accuracy.json").read_text())[name]["table"]
    rows: dict[str, Any] = {}
    for key, spread in (("usual_spread", None), ("own_spread", known.spread)):
        found = plan(
            known.users,
            known.items,
            known.ratings_per_user,
            goal="rate",
            rating_range=known.rating_range,
            head_share=known.head_share,
            spread=spread,
            epsilons=known.epsilons,
            delta=known.delta,
        )
        names = {"user mean (free)": found.baseline, "non-private ALS": found.not_private}
        names |= {f"private, epsilon {one.epsilon:g}": one for one in found.private}
        for row, one in names.items():
            assert one.mean is not None
            entry = rows.setdefault(row, {"trained": trained[row]["RMSE"]["mean"]})
            entry[key] = {
                "mean": known.unit * one.mean,
                "lowest": known.unit * min(one.known),
                "highest": known.unit * max(one.known),
            }
        rows[f"seconds, {key}"] = round(found.seconds, 1)
    return {"title": known.title, "rows": rows}


def page(results: dict[str, Any]) -> str:
    """As a document."""
    lines = [
        "# Plans beside what training gives",
        "",
        "Written by `benchmarks/plan.py`: RMSE that `discreet plan` expects (mean and range of its three markets) and",
        "RMSE of the trained model (`benchmarks/results/accuracy.md`). In brackets: how far the plan's mean is off.",
    ]
    for one in results.values():
        lines += [
            "",
            f"## {one['title']}",
            "",
            "| | trained | plan | range | plan, spread typed in | range |",
            "|---|---|---|---|---|---|",
        ]
        for name, row in one["rows"].items():
            if name.startswith("seconds"):
                continue
            cells = [name, f"{row['trained']:.4f}"]
            for key in ("usual_spread", "own_spread"):
                found = row[key]
                off = 100.0 * (found["mean"] / row["trained"] - 1.0)
                cells += [
                    f"{found['mean']:.4f} ({off:+.1f} %)",
                    f"{found['lowest']:.3f} to {found['highest']:.3f}",
                ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(SETS))
    wanted = parser.parse_args().only.split(",")
    file = RESULTS / "plan.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    for name in wanted:
        results[name] = compare(name)
        results = {one: results[one] for one in SETS if one in results}
        file.write_text(json.dumps(results, indent=1) + "\n")
        (RESULTS / "plan.md").write_text(page(results))
        Console().print(page({name: results[name]}), markup=False)


if __name__ == "__main__":
    main()
