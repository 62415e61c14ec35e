"""Table 5: run small, and make every claim fail."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.central.three_tasks import OURS, TAIL, WEIGHTS, Panel
from reproduction.experiments.table_05 import judge
from reproduction.scoring import Draws
from tests.reproduction.worlds import verdicts

RATINGS = {"tail": 0.8373, "weights": 0.82, "ours": 0.8, "trivial": 0.99, "plain": 0.79}
CLICKS = {"tail": 0.36, "weights": 0.365, "ours": 0.37, "trivial": 0.3, "plain": 0.38}


def panel(
    task: str = "ML-10M", *, spread: float = 0.001, as_published: bool = False, **values: float
) -> Panel:
    """Scores at epsilon 20."""
    explicit = task != "ML-20M"
    found = {**(RATINGS if explicit else CLICKS), **values}
    scores = {
        name: {20.0: Draws((found[key] - spread, found[key] + spread))}
        for name, key in ((TAIL, "tail"), (WEIGHTS, "weights"), (OURS, "ours"))
        if key in found
    }
    settings: dict[tuple[str, float], dict[str, Any]] = {(TAIL, 20.0): {"rank": 8, "penalty": 12.345}}
    metric = "RMSE" if explicit else "Recall@20"
    trivial = ("user mean" if explicit else "popularity", found["trivial"])
    plain = Draws((found["plain"],))
    title = f"a market for {task}"
    return Panel(task, title, metric, explicit, scores, settings, trivial, plain, as_published)


def test_it_agrees_where_everything_is_as_claimed() -> None:
    assert verdicts(judge([panel(), panel("ML-20M")])) == [True, None, *[True] * 7]


@pytest.mark.parametrize(
    ("change", "red"),
    [
        ({"spread": 0.005}, 0),
        ({"trivial": 0.83}, 2),
        ({"plain": 0.78}, 3),
        ({"weights": 0.84}, 4),
        ({"ours": 0.83}, 5),
        ({"plain": 0.805}, 6),
    ],
)
def test_one_task_is_enough_to_disagree(change: dict[str, Any], red: int) -> None:
    said = verdicts(judge([panel(**change), panel("ML-20M")]))
    assert [place for place, verdict in enumerate(said) if verdict is False] == [red]


def test_published_numbers_are_compared_on_the_papers_data_only() -> None:
    assert verdicts(judge([panel(as_published=True)]))[1] is True
    assert verdicts(judge([panel(as_published=True, tail=0.86, plain=0.85)]))[1] is False
    assert verdicts(judge([panel(tail=0.86)]))[1] is None
