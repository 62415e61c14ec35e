"""``discreet federate plan``: before anybody pays."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from discreet.silos import plan as planning
from tests.cli.conftest import Run


def test_refusals(refused: Callable[..., str]) -> None:
    assert "whole numbers" in refused("federate", "plan", "--users", "many")
    assert "leave --silos out" in refused("federate", "plan", "--users", "10,20", "--silos", 3)
    assert "cannot be honest" in refused("federate", "plan", "--users", "10,20", "--honest", 3)


def test_a_plan_tells_what_each_silo_gains(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "NEWCOMERS", 300)
    size = ("--users", "600,150,150", "--items", 60, "--ratings-per-user", 12, "--draws", 1)
    terms = ("--goal", "rate", "--epsilon", 4)
    told = json.loads(run("federate", "plan", *size, *terms, "--json").stdout)
    assert (told["silos"], told["sizes"], told["honest"]) == (3, [600, 150, 150], 2)
    assert (told["measure"], told["epsilon"], told["delta"]) == ("rmse", 4.0, 1e-6)
    scores = {
        (row["training"], row["private"], row["users"], row["honest"]): row["rmse"] for row in told["rows"]
    }
    for gain in told["worth_joining"]:
        together, alone = scores["together", True, 900, 2], scores["alone", False, gain["users"], None]
        assert gain["gain_over_alone"] == pytest.approx(100 * (1 - together / alone), abs=0.01)
    assert [gain["users"] for gain in told["worth_joining"]] == [150, 600]
    words = run("federate", "plan", *size, *terms).stdout
    assert "alone, not private" in words
    assert "A silo of 150 users: together is" in words
    assert "nothing was spent" in words
