"""Tables of a comparison over silos."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from reproduction.result import Column, Table, columns_of
from reproduction.silos.design import FEDERATED, Design
from reproduction.silos.methods import USER_MEAN
from reproduction.silos.runs import Line

MEASURES = {"train": "train RMSE", "test": "test RMSE", "rank": "mean percentile rank"}

NOTES = (
    "Test: five ratings of one user in five, as in the paper. Train RMSE is on the other ratings of the same users. "
    "Predictions are clipped to the scale.",
    "Mean percentile rank (equation 3): where the held-out items stand among all items of the catalogue, ordered "
    "by the user's predictions before clipping, weighted with the ratings; 0 is best, 0.5 is chance, and equal "
    "predictions share their places. Where few items are rated it rewards knowing which.",
    "Prototypes with local swap are epsilon-DP (delta 0); with Lloyd steps and ALS (epsilon, delta)-DP, delta 1e-6. "
    "Federated ALS is a real run of a coordinator and ten silos with masks, noise in shares for 6 honest silos of 10; "
    "rank and rounds follow its public rule unless said otherwise. Central private ALS: a trusted server.",
    "A silo takes part in prototypes when its noisy number of users is at least 1, so that small epsilons can be seen; "
    "at the default limit most silos would be refused there. No numbers: the budget was refused as too small.",
    "'Shrunk': the values of a prototype are drawn to their mean as far as noise alone would explain how they differ, "
    "which reads nothing but what is sent anyway. 'The paper's' are sent as they come.",
    "'Tuned': settings chosen by trials on the training ratings alone, of which five of one user in five are held "
    "out once "
    "more; as many trials for ALS without privacy as for prototypes at each epsilon, none of which is charged. "
    "'Best without "
    "privacy' is that ALS, or a mean where a mean is better there.",
    "In the pictures errors end at 1.5 times that of the user mean; what lies beyond is in the table.",
)


def find(lines: Sequence[Line], method: str, **wanted: Any) -> list[Line]:
    """All lines of a method with these values of the point."""
    return [
        line
        for line in lines
        if line.point.method == method
        and all(getattr(line.point, name) == value for name, value in wanted.items())
    ]


def level(lines: Sequence[Line], method: str, which: str, **wanted: Any) -> float:
    """One number; NaN where there is no such line or every draw was refused."""
    found = find(lines, method, **wanted)
    return found[0].mean(which) if found else math.nan


def table(title: str, lines: Sequence[Line], key: str = "") -> Table:
    """One row for each line."""
    columns = [
        Column("method"),
        Column("epsilon"),
        Column("delta"),
        Column("k"),
        Column("l"),
        Column("lambda"),
    ]
    for name in MEASURES.values():
        columns += [Column(name, digits=4), Column(f"{name} spread", digits=4)]
    columns += [
        Column("over user mean", "%", 1),
        Column("silos", digits=1),
        Column("distinct prototypes", digits=1),
        Column("chosen"),
    ]
    own = level(lines, USER_MEAN, "test")
    rows = []
    for line in lines:
        point = line.point
        rank = line.chosen if point.rank is None else point.rank
        row: dict[str, Any] = {
            "method": point.method,
            "epsilon": point.epsilon,
            "delta": line.delta,
            "k": point.k,
        }
        row |= {"l": rank, "lambda": point.penalty, "silos": line.silos, "distinct prototypes": line.distinct}
        row |= {"chosen": line.settings or None}
        for which, name in MEASURES.items():
            row |= {name: line.mean(which), f"{name} spread": line.draws(which).spread}
        rows.append(row | {"over user mean": 100.0 * (line.mean("test") / own - 1.0)})
    return Table(title, columns, rows, key=key, shown=120)


def against_table(lines: Sequence[Line], design: Design) -> Table:
    """All private prototypes beside federated ALS at the same epsilon: how many times its error and its rank."""
    columns = columns_of(
        "epsilon | prototypes | k | l | lambda | RMSE .4 | federated RMSE .4 | RMSE ratio .3 | "
        "rank .4 | federated rank .4 | rank ratio .3"
    )
    rows = []
    for line in lines:
        point = line.point
        if point.method not in design.prototypes:
            continue
        row: dict[str, Any] = {"epsilon": point.epsilon, "prototypes": point.method}
        row |= {"k": point.k, "l": point.rank, "lambda": point.penalty}
        for which, title in (("test", "RMSE"), ("rank", "rank")):
            ours, theirs = level(lines, FEDERATED, which, epsilon=point.epsilon), line.mean(which)
            row |= {title: theirs, f"federated {title}": ours, f"{title} ratio": theirs / ours}
        rows.append(row)
    return Table("Prototypes over federated ALS at the same epsilon", columns, rows, key="against", shown=60)
