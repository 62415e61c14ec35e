"""``discreet doctor``."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet.cli import self_test
from tests.cli.conftest import Run


def test_a_healthy_installation(run: Run) -> None:
    result = run("doctor", "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["ok"] is True
    assert {check["name"] for check in report["checks"]} == set(self_test.CHECKS)
    assert all(check["ok"] for check in report["checks"])
    assert report["versions"]["discreet"]
    assert report["threads"] >= 1
    assert report["blas"]


def test_for_people(run: Run) -> None:
    text = run("doctor").stdout
    assert "noise source" in text
    assert "FAILED" not in text


def test_noise_of_the_wrong_scale_is_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = self_test.Noise.normals
    monkeypatch.setattr(self_test.Noise, "normals", lambda self, size: 1.02 * real(self, size))
    result = run("doctor")
    assert result.exit_code == 1
    assert "FAILED" in result.stdout


def test_noise_that_repeats_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        self_test.Noise, "normals", lambda self, size: np.random.default_rng(0).standard_normal(size)
    )
    assert not self_test.noise_source().ok


def test_a_kernel_that_computes_something_else_is_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = self_test.kernels.solve_rows
    monkeypatch.setattr(self_test.kernels, "solve_rows", lambda *args, **named: real(*args, **named) + 1e-6)
    report = json.loads(run("doctor", "--json").stdout)
    assert [check["name"] for check in report["checks"] if not check["ok"]] == ["kernels"]


def test_a_check_that_breaks_has_failed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("no such library")

    monkeypatch.setattr(self_test.kernels, "top_n", broken)
    result = run("doctor", "--json")
    assert result.exit_code == 1
    failed = [check for check in json.loads(result.stdout)["checks"] if not check["ok"]]
    assert failed[0]["detail"] == "RuntimeError: no such library"
