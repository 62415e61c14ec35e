"""Table 5: run small, and make every claim fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reproduction import Context, perform
from reproduction.central.tasks import Task
from reproduction.central.three_tasks import OURS, PUBLISHED, TAIL, TUNED, WEIGHTS, Panel, first, space
from reproduction.central.yardstick import Yardstick
from reproduction.experiments import table_05
from reproduction.experiments.table_05 import judge, tabulate
from reproduction.output.record import write
from reproduction.scoring import Draws
from tests.reproduction.pictures import open_picture
from tests.reproduction.worlds import shrink, verdicts

RATINGS = {"tail": 0.8373, "weights": 0.82, "ours": 0.8, "tuned": 0.795, "trivial": 0.99, "plain": 0.79}
CLICKS = {"tail": 0.36, "weights": 0.365, "ours": 0.37, "trivial": 0.3, "plain": 0.38}


def panel(
    task: str = "ML-10M", *, spread: float = 0.001, as_published: bool = False, **values: float
) -> Panel:
    """Scores at epsilon 20."""
    explicit = task != "ML-20M"
    found = {**(RATINGS if explicit else CLICKS), **values}
    scores = {
        name: {20.0: Draws((found[key] - spread, found[key] + spread))}
        for name, key in ((TAIL, "tail"), (WEIGHTS, "weights"), (OURS, "ours"), (TUNED, "tuned"))
        if key in found
    }
    settings: dict[tuple[str, float], dict[str, Any]] = {(TAIL, 20.0): {"rank": 8, "penalty": 12.345}}
    metric = "RMSE" if explicit else "Recall@20"
    trivial = ("user mean" if explicit else "popularity", found["trivial"])
    plain = Yardstick(Draws((found["plain"],)), {"rank": 8}, 25, found["plain"])
    title = f"a market for {task}"
    return Panel(task, title, metric, explicit, scores, settings, trivial, plain, as_published)


def test_it_agrees_where_everything_is_as_claimed() -> None:
    assert verdicts(judge([panel(), panel("ML-20M")])) == [True, None, *[True] * 8]


@pytest.mark.parametrize(
    ("change", "red"),
    [
        ({"spread": 0.005}, 0),
        ({"trivial": 0.83}, 2),
        ({"plain": 0.78}, 3),
        ({"weights": 0.84}, 4),
        ({"ours": 0.83}, 5),
        ({"tuned": 0.83}, 6),
        ({"plain": 0.799}, 7),
    ],
)
def test_one_task_is_enough_to_disagree(change: dict[str, Any], red: int) -> None:
    said = verdicts(judge([panel(**change), panel("ML-20M")]))
    assert [place for place, verdict in enumerate(said) if verdict is False] == [red]


@pytest.mark.parametrize(
    ("change", "red"),
    [
        ({"trivial": 0.365}, 2),
        ({"plain": 0.39}, 3),
        ({"plain": 0.368}, 8),
        ({"weights": 0.355}, 4),
        ({"ours": 0.36}, 5),
    ],
)
def test_more_recall_is_better(change: dict[str, float], red: int) -> None:
    said = verdicts(judge([panel(), panel("ML-20M", **change)]))
    assert [place for place, verdict in enumerate(said) if verdict is False] == [red]


def test_published_numbers_are_compared_on_the_papers_data_only() -> None:
    assert verdicts(judge([panel(as_published=True)]))[1] is True
    assert verdicts(judge([panel(as_published=True, tail=0.86, plain=0.85)]))[1] is False
    assert verdicts(judge([panel(tail=0.86)]))[1] is None


def test_rows_have_what_is_published_and_the_ratio() -> None:
    rows = {row["method"]: row for row in tabulate(panel())}
    assert rows[TAIL]["published on MovieLens"] == 0.8373
    assert rows[TAIL]["its spread"] == 0.0005
    assert rows[TAIL]["ours / this"] == pytest.approx(0.8 / 0.8373)
    assert rows[TAIL]["settings"] == "rank 8, penalty 12.3"
    assert rows[WEIGHTS]["published on MovieLens"] is None
    assert (rows[OURS]["ours / this"], rows[OURS]["settings"]) == (1.0, "defaults")
    assert rows["user mean"]["mean"] == 0.99


def test_the_papers_settings_are_tried_on_the_papers_data(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    for task in (Task.of_top_items(Context("quick")), Task.of_clicks(Context("quick"))):
        own = replace(task, data=replace(task.data, name=task.data.wanted))
        assert own.data.as_published
        for epsilon in PUBLISHED[task.name]:
            assert len(first(task, epsilon)) == 2
            preset = first(own, epsilon)[-1]
            assert {"rank", "penalty", "max_ratings"} <= set(preset)
            assert not any(name.startswith("sigma") for name in preset)
        assert ("gravity" in space(task)) is not task.explicit


def test_a_small_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    finished = perform(table_05.EXPERIMENT, Context("quick", draws=2))
    write(finished, tmp_path)
    assert open_picture(tmp_path / "table-5.svg")[2] > 2
    rows = finished.result.tables[0].rows
    assert len(rows) == 2 * (2 + 4 * 2) + (2 + 3 * 2), (
        "two tasks of ratings; for clicks nothing of ours is tuned"
    )
    assert not {row["task"] for row in rows} & set(PUBLISHED)  # a market is not called after the paper's data
    assert all("market of" in row["task"] for row in rows)
    assert "Every private method over 2 noise draws" in finished.result.notes[1]
    assert "not charged" in finished.result.notes[0]
    assert len(finished.result.data) == 3
