"""``discreet budget``."""

from __future__ import annotations

import json
import math

import pytest

from discreet.privacy.accounting import epsilon_from
from tests.cli.conftest import Run


def test_the_plan_spends_exactly_the_budget(run: Run) -> None:
    result = run("budget", "--epsilon", "1", "--delta", "1e-5", "--releases", "7", "--json")
    plan = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert plan["mu_per_release"] * math.sqrt(7) == pytest.approx(plan["mu"])
    assert plan["noise_multiplier"] == pytest.approx(1 / plan["mu_per_release"])
    assert epsilon_from(plan["mu"], 1e-5) == pytest.approx(1.0)
    assert 1 / plan["renyi"]["noise_ratio"] == pytest.approx(
        0.76, abs=0.005
    )  # the ratio the papers' bound leaves
    assert plan["renyi"]["epsilon_of_mu"] > 1.0


def test_the_table(run: Run) -> None:
    text = run("budget", "--epsilon", "5", "--delta", "1e-6").stdout
    assert "mu (exact)" in text
    assert "Rényi" in text
