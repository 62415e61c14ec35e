"""Figure 8: run small, and make every claim fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction import Context, perform
from reproduction.central.yardstick import NOT_PRIVATE
from reproduction.experiments import figure_08
from reproduction.experiments.figure_08 import FRANK_WOLFE, OURS, judge, named
from reproduction.output.record import write
from reproduction.scoring import Draws
from tests.reproduction.pictures import open_picture
from tests.reproduction.worlds import shrink, verdicts


def curves(**errors: float) -> figure_08.Curves:
    """At two epsilons the same errors."""
    names = {
        "eighth": named(0.125),
        "quarter": named(0.25),
        "whole": named(1.0),
        "wolfe": FRANK_WOLFE,
        "ours": OURS,
    }
    values = {"eighth": 0.95, "quarter": 0.9, "whole": 0.85, "wolfe": 0.92, "ours": 0.8, **errors}
    return {names[key]: {1.0: Draws((error,)), 8.0: Draws((error,))} for key, error in values.items()}


def test_names() -> None:
    assert [named(share) for share in (0.125, 0.25, 1.0)] == [
        "DPALS, 1/8 of the users",
        "DPALS, 1/4 of the users",
        "DPALS, all users",
    ]


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ({}, [True, True, True, True]),
        ({"whole": 0.91}, [False, True, True, True]),
        ({"eighth": 0.89}, [False, True, True, True]),
        ({"quarter": 0.93}, [True, False, True, True]),
        ({"wolfe": 0.84}, [True, False, False, True]),
        ({"ours": 0.86}, [True, True, True, False]),
    ],
)
def test_it_agrees_and_disagrees(errors: dict[str, float], said: list[bool]) -> None:
    assert verdicts(judge(curves(**errors))) == said


def test_a_claim_must_hold_at_every_epsilon() -> None:
    mixed = {name: dict(points) for name, points in curves().items()}
    mixed[FRANK_WOLFE][8.0] = Draws((0.88,))
    findings = judge(mixed)
    assert verdicts(findings) == [True, False, True, True]
    assert findings[1].observed.endswith("better at epsilon 1.")


def test_a_small_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    finished = perform(figure_08.EXPERIMENT, Context("quick"))
    write(finished, tmp_path)
    assert open_picture(tmp_path / "figure-8.svg")[2] > 2
    rows = finished.result.tables[0].rows
    assert {row["method"]: row["users"] for row in rows} == {
        named(0.25): 500,
        named(1.0): 2_000,
        FRANK_WOLFE: 2_000,
        OURS: 2_000,
        NOT_PRIVATE: 2_000,
    }
    claims = [finding.claim for finding in finished.result.findings]
    assert [claim.startswith("(check)") for claim in claims] == [False] * 4 + [True] * 2
    assert {row["settings"] for row in rows if row["method"] == OURS} == {"defaults"}
    assert len(finished.result.data) == 1
