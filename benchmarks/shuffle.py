"""What a shuffler buys: the same bits of 140,000 devices, with and without one between them and the collector.

Run: python benchmarks/shuffle.py          (writes benchmarks/results/shuffle.md; some three minutes on an idle core)
"""

from __future__ import annotations

import math
from pathlib import Path

from discreet.data.ratings import Ratings
from discreet.data.splits import by_rating
from discreet.data.synthetic import market
from discreet.devices import fit
from discreet.devices.shuffle import ShuffleTerms, amplify
from discreet.evaluation.protocols import evaluate_ratings

RESULTS = Path(__file__).parent / "results" / "shuffle.md"
USERS, ITEMS, RATINGS, GROUPS = 140_000, 5_000, 3_920_000, 4
TERMS = ShuffleTerms(batch=30_000, delta=1e-7)
BUDGETS = (0.25, 0.5, 1.0)
MOST_PASSES = 4


def main() -> None:
    lines = [
        "# What a shuffler buys",
        "",
        f"{USERS:,} devices in {GROUPS} groups, so {USERS // GROUPS:,} reports a round, mixed in batches of at least"
        f" {TERMS.batch:,}; delta {TERMS.delta:g}. Central epsilon of all answers of one device, by the bound of"
        " Feldman, McMillan and Talwar (numerical form), against a collector that does not work together with the"
        " shuffler:",
        "",
        "| local epsilon | answers | each | central epsilon |",
        "|---|---|---|---|",
    ]
    for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
        answers = max(1, round(epsilon / 2.18))
        found = amplify(epsilon / answers, answers, TERMS)
        lines.append(f"| {epsilon:g} | {answers} | {epsilon / answers:.3g} | {_up(found.epsilon)} |")
    lines += [
        "",
        "## At the same epsilon towards the collector",
        "",
        f"A skewed market of {USERS:,} users and {ITEMS:,} items, {RATINGS:,} ratings, a tenth held out; one run each."
        " Behind the shuffler devices may answer less noisily: the local epsilon is the largest with which the central"
        " one holds. It is also what is left if shuffler and collector work together after all.",
        "",
        "| epsilon | RMSE without | RMSE through the shuffler | local epsilon there |",
        "|---|---|---|---|",
    ]
    train, test = by_rating(market(USERS, ITEMS, RATINGS, rng=1), (0.9, 0.1), rng=1)
    for epsilon in BUDGETS:
        cost, passes = best_answers(epsilon)
        plain = _error(train, test, epsilon, None)
        mixed = _error(train, test, math.nextafter(cost * passes, math.inf), passes)
        print(epsilon, plain, mixed, flush=True)
        lines.append(f"| {epsilon:g} | {plain:.4f} | {mixed:.4f} | {cost * passes:.2f} in {passes} answers |")
    lines += ["", f"Each user's own mean, which is free: {_own_means(train, test):.4f}.", ""]
    RESULTS.write_text("\n".join(lines))
    print(RESULTS.read_text())


def best_answers(epsilon: float) -> tuple[float, int]:
    """Cost and number of a device's answers that tell most within a central epsilon: answers * tanh(cost / 2)^2."""
    choices = []
    for passes in range(1, MOST_PASSES + 1):
        low, high = 0.0, 20.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            within = amplify(middle, passes, TERMS).epsilon <= epsilon
            low, high = (middle, high) if within else (low, middle)
        choices.append((passes * math.tanh(0.5 * low) ** 2, low, passes))
    _, cost, passes = max(choices)
    return cost, passes


def _error(train: Ratings, test: Ratings, epsilon: float, passes: int | None) -> float:
    found = fit(train, epsilon, groups=GROUPS, passes="auto" if passes is None else passes, rng=1)
    return evaluate_ratings(found.model_, train, test).rmse


def _own_means(train: Ratings, test: Ratings) -> float:
    """Every user predicted their own mean; the middle of the scale where there is none."""
    total = 0.0
    low, high = train.rating_range or (1.0, 5.0)
    for user in range(test.n_users):
        own = train.values[train.indptr[user] : train.indptr[user + 1]]
        mean = float(own.mean()) if len(own) else 0.5 * (low + high)
        left = test.values[test.indptr[user] : test.indptr[user + 1]]
        total += float(((left - mean) ** 2).sum())
    return math.sqrt(total / test.n_ratings)


def _up(number: float) -> str:
    """Three digits, rounded up."""
    scale = 10.0 ** (2 - math.floor(math.log10(number)))
    return f"{math.ceil(number * scale) / scale:.3g}"


if __name__ == "__main__":
    main()
