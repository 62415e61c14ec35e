"""What both comparisons over silos are asked beyond the paper: against what is free, and against each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reproduction.checks import gets_no_worse, yardstick_holds
from reproduction.result import Finding
from reproduction.silos.design import BEST_OPEN, FEDERATED, POOLED, Design
from reproduction.silos.methods import USER_MEAN
from reproduction.silos.runs import Line
from reproduction.silos.tables import against_table, find, level

_AS_GOOD = 1.001
"""Up to so many times an error counts as the same."""


def beyond_the_paper(lines: Sequence[Line], design: Design) -> list[Finding]:
    """Prototypes and federated ALS against the user's own mean, and against each other; and two checks."""
    return [
        _prototypes(lines, design),
        _federated(lines, design),
        _against(lines, design),
        _yardstick(lines),
        gets_no_worse(
            {
                name: {line.point.epsilon or 0.0: line.draws("test") for line in found}
                for name in (FEDERATED, POOLED)
                if (found := [line for line in find(lines, name) if line.scores])
            },
            name="federated or central private ALS",
        ),
    ]


def _yardstick(lines: Sequence[Line]) -> Finding:
    private = {
        (
            "",
            f"{line.point.method}, k {line.point.k}, l {line.point.rank}, epsilon {line.point.epsilon:g}",
        ): line.draws("test")
        for line in lines
        if line.point.epsilon is not None and line.scores
    }
    return yardstick_holds({"": level(lines, BEST_OPEN, "test")}, private)


def _prototypes(lines: Sequence[Line], design: Design) -> Finding:
    own = level(lines, USER_MEAN, "test")
    runs = [line for line in lines if line.point.method in design.prototypes and line.scores]
    best = {
        name: min((line for line in runs if line.point.method == name), key=lambda line: line.mean("test"))
        for name in design.prototypes
    }
    said = [
        f"{line.mean('test'):.3f} ({name}, k {line.point.k}, epsilon {line.point.epsilon:g})"
        for name, line in best.items()
    ]
    return Finding(
        "(ours) Each kind of private prototypes is better than the user's own mean, which is free, at some setting.",
        f"RMSE at best {', '.join(said)}, against {own:.3f}.",
        all(_AS_GOOD * line.mean("test") < own for line in best.values()),
    )


def _federated(lines: Sequence[Line], design: Design) -> Finding:
    own = level(lines, USER_MEAN, "test")
    errors = {epsilon: level(lines, FEDERATED, "test", epsilon=epsilon) for epsilon in design.epsilons}
    known = [value for value in errors.values() if not math.isnan(value)]
    said = [
        f"{'refused' if math.isnan(value) else f'{value:.3f}'} (epsilon {epsilon:g})"
        for epsilon, value in errors.items()
    ]
    return Finding(
        "(ours) Federated ALS is better than the user's own mean at some epsilon, and worse at none.",
        f"RMSE {', '.join(said)}, against {own:.3f}.",
        _AS_GOOD * min(known, default=math.inf) < own and max(known) <= _AS_GOOD * own,
    )


def _against(lines: Sequence[Line], design: Design) -> Finding:
    claim = "(ours) At the same epsilon federated ALS is better than prototypes, in RMSE and in rank."
    rows = [row for row in against_table(lines, design).rows if not math.isnan(row["RMSE ratio"])]
    if not rows:
        return Finding(claim, "One or the other was refused at every epsilon.", None)
    behind = [row for row in rows if not (row["RMSE ratio"] > 1.0 and row["rank ratio"] > 1.0)]
    errors, ranks = [row["RMSE ratio"] for row in rows], [row["rank ratio"] for row in rows]
    said = (
        f"In {len(rows) - len(behind)} of {len(rows)} cases in both. Prototypes have {min(errors):.3f} to "
        f"{max(errors):.3f} times its error and {min(ranks):.2f} to {max(ranks):.2f} times its rank."
    )
    if behind:
        cases = [
            f"epsilon {row['epsilon']:g}, k {row['k']}, l {row['l']} ({row['prototypes']})" for row in behind
        ]
        said += f" Not at {'; '.join(cases)}."
    return Finding(claim, said, not behind)
