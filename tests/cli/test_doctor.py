"""``discreet doctor``."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from discreet.cli import doctor
from discreet.cli.walk import PUBLIC, trusted
from tests.cli.conftest import Run


def test_a_healthy_installation(run: Run) -> None:
    result = run("doctor", "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["ok"] is True
    assert {check["name"] for check in report["checks"]} == set(doctor.CHECKS)
    assert all(check["ok"] for check in report["checks"])
    assert report["versions"]["discreet"]
    assert report["threads"] >= 1
    assert report["blas"]


def test_noise_of_the_wrong_scale_is_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor.Noise.normals
    monkeypatch.setattr(doctor.Noise, "normals", lambda self, size: 1.02 * real(self, size))
    result = run("doctor")
    assert result.exit_code == 1
    assert "FAILED" in result.stdout


def test_a_kernel_that_computes_something_else_is_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor.kernels.solve_rows
    monkeypatch.setattr(doctor.kernels, "solve_rows", lambda *args, **named: real(*args, **named) + 1e-6)
    report = json.loads(run("doctor", "--json").stdout)
    assert [check["name"] for check in report["checks"] if not check["ok"]] == ["kernels"]


# What one must trust


def test_what_one_must_trust_is_what_a_default_run_loads(run: Run) -> None:
    told = json.loads(run("doctor", "--trusted", "--json").stdout)
    files = told["files"]
    assert told["lines"] == sum(files.values())
    for module in (
        "data.readers",
        "data.ratings",
        "engines.memory",
        "kernels.sums",
        "methods.ease.private.contributions",
        "privacy.gaussian.pairs",
        "privacy.gaussian.gate",
        "privacy.gaussian.noise",
        "privacy.gaussian.totals",
        "privacy.accounting",
        "privacy.promise",
    ):
        assert f"discreet.{module}" in files, module
    # Of the kernels those that are used; of methods no public half; and nothing that prints or serves.
    strange = (
        "cli",
        "model",
        "service",
        "statements",
        "evaluation",
        "methods.als",
        "kernels.ranking",
        "silos",
    )
    assert not [name for name in files if name.startswith(tuple(f"discreet.{room}" for room in strange))]
    assert not [name for name in files if ".public." in name]
    text = run("doctor", "--trusted").stdout
    assert f"{told['lines']:,}" in text
    assert f"{len(files)} files" in text


def test_rooms_that_are_not_entered_are_held_to_import_no_ratings() -> None:
    root = Path(__file__).parents[2]
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (public,) = [one for one in contracts if one["id"] == "public-side"]
    held = public["source_modules"]
    assert "discreet.methods.*.public" in held
    assert not [one for one in PUBLIC if one not in held and ".".join(one.split(".")[:2]) not in held]


def test_the_number_in_the_documents_is_that_of_the_command() -> None:
    text = (Path(__file__).parents[2] / "docs" / "threat-models.md").read_text()
    (said,) = re.findall(r"some ([0-9,]+) lines of code", text)
    assert sum(trusted().values()) == pytest.approx(int(said.replace(",", "")), rel=0.1)


def test_a_walk_names_where_users_are_bounded_noise_is_added_and_the_head_is_chosen(run: Run) -> None:
    steps = json.loads(run("doctor", "--walk", "train", "--json").stdout)["steps"]
    order = [step["function"] for step in steps]
    places = [
        order.index(name)
        for name in ("bounded", "Gate.release_totals", "with_noise", "choose_head", "denoised")
    ]
    assert places == sorted(places)
    assert all(step["does"] for step in steps)
