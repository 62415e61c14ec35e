"""``discreet collect``: what a person types."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli.collect import command
from discreet.errors import DiscreetError
from tests.local.collector.running import Running, asked_devices


def _run(*arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def test_a_task_from_creation_to_release(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        options = (
            "--items",
            "10",
            "--rating-range",
            "1",
            "5",
            "--epsilon",
            "2",
            "--minimum",
            "2",
            "--set",
            "groups=2",
        )
        made = _run("task", "create", server.url, "films", *options, "--json")
        assert made["terms"] == {
            "task": "films",
            "epsilon": 2.0,
            "rounds": 2,
            "items": 10,
            "range": [1.0, 5.0],
        }
        assert _run("task", "show", server.url, "--json") == {"tasks": ["films"]}
        with pytest.raises(DiscreetError, match="a release needs 2"):
            _run("task", "close", server.url, "films", "1", "--json")
        for number in (1, 2):
            devices = asked_devices(server.question())
            assert [server.report(next(devices), 1, number)[0] for _ in range(2)] == [200, 200]
            closed = _run("task", "close", server.url, "films", str(number), "--json")
            assert closed == {"task": "films", "released": number, "reports": 2}
        assert _run("task", "show", server.url, "films", "--json")["question"] is None


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["serve", "--store", "s", "--host", "0.0.0.0"], "can be reached from other machines"),
        (["serve", "--store", "s", "--rate", "-1"], "rate"),
        (["serve", "--store", "s", "--token-file", "nothing"], "cannot be read"),
        (["task", "show", "http://127.0.0.1:9"], "cannot be reached"),
        (["task", "show", "nonsense"], "not the address"),
        (["simulate", "--set", "groups=1"], "groups"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiscreetError, match=why):
        CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_simulate_runs_real_devices_through_all_rounds() -> None:
    found = _run(
        "simulate", "--devices", "24", "--items", "40", "--ratings", "6", "--minimum", "1", "--epsilon", "2",
        "--set", "groups=2", "--json",
    )  # fmt: skip
    assert found["rounds"] == 2
    assert found["reports"] == 24  # every device is asked once
    assert 200 < float(str(found["bytes_sent_per_report"])) < 600
    assert float(str(found["rmse_user_mean"])) > 0
