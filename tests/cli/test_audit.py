"""``discreet audit``: what it prints, and how it ends."""

from __future__ import annotations

import json

import pytest

from discreet.privacy import Noise
from discreet.privacy.gaussian.blocks import UserVector
from tests.cli.conftest import Run

CLAIM = ("--epsilon", 4, "--delta", 1e-5)


def test_honest_code_passes(run: Run) -> None:
    result = run("audit", "global-mean", *CLAIM, "--quick", "--runs", 300, "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["claimed"] == 4.0
    assert 0.7 * 4.0 < found["lower_bound"] <= 4.0
    assert found["passed"] is True
    assert set(found["games"]["game"]["bounds"]) == {"means", "noise", "guesses"}
    assert found["replay"]["explicit"]["worst_ratio"] <= 1.0 + 1e-9
    said = run("audit", "devices", "--epsilon", 2, "--quick", "--runs", 300)
    assert said.exit_code == 0
    assert "Nothing refutes the claim" in said.stdout


def test_half_the_noise_ends_with_exit_code_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    normals = Noise.normals
    monkeypatch.setattr(Noise, "normals", lambda self, size: 0.5 * normals(self, size))
    said = run("audit", "global-mean", *CLAIM, "--quick", "--runs", 200, "--test", "game")
    assert said.exit_code == 1
    assert "THE CLAIM IS REFUTED" in said.stdout
    result = run("audit", "global-mean", *CLAIM, "--quick", "--runs", 200, "--test", "game", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["passed"] is False
    assert found["lower_bound"] > found["claimed"]


def test_a_wrong_sensitivity_ends_with_exit_code_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    total = UserVector.total
    monkeypatch.setattr(UserVector, "total", lambda self: 2.0 * total(self))
    assert run("audit", "global-mean", *CLAIM, "--test", "replay").exit_code == 1
