"""``python -m reproduction``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import reproduction
from reproduction import Column, Context, Experiment, Table, registry
from reproduction import __main__ as program

ROOT = Path(__file__).parents[2]
Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Run the command; an exception that is not a message to a person fails the test."""

    def call(*arguments: object) -> Result:
        words = [str(argument) for argument in arguments]
        result = CliRunner().invoke(program.command, words, prog_name=program.PROGRAM)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """Run a command that must be refused: exit code 2, nothing on stdout, a message on stderr."""

    def call(*arguments: object) -> str:
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        return " ".join(result.stderr.split())

    return call


def test_the_list_names_every_experiment_with_its_minutes(run: Run) -> None:
    shown = run("--list").stdout
    assert "figure-2" in shown
    stored = json.loads((ROOT / "reproduction/results/figure-4.json").read_text())
    assert str(round(stored["seconds"] / 60, 1)) in shown


def test_an_interrupted_run_goes_on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def note(name: str) -> Experiment:
        def work(context: Context) -> reproduction.Result:
            done.append(name)
            if done == ["table-2", "table-4"]:
                raise KeyboardInterrupt
            return reproduction.Result([Table("x", [Column("a")], [])], [])

        return Experiment(name, "t", "s", "x.", "y", work)

    monkeypatch.setattr(registry, "find", lambda _: [note("table-2"), note("table-4")])
    arguments = ("all", "--quick", "--out", tmp_path)
    first = run(*arguments)
    assert first.exit_code == 130
    assert "--resume" in first.stderr
    assert "finished before" in run(*arguments, "--resume").stderr
    assert done == ["table-2", "table-4", "table-4"]
    assert "finished before" not in run(*arguments, "--resume", "--seed", 3).stderr
    run(*arguments)
    assert len(done) == 7


def test_the_report_is_made_from_a_folder(run: Run, refused: Callable[..., str], tmp_path: Path) -> None:
    run("table-4", "--quick", "--out", tmp_path)
    making = ("--report", tmp_path, "--docs", tmp_path / "docs")
    assert "--allow-quick" in refused(*making)
    assert "Written: " in run(*making, "--allow-quick").stdout
    assert (tmp_path / "docs/results.md").read_text().startswith("# Results")


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not valid JSON"), ("[]", "not the record"), ('{"name": "table-4"}', "not the record")],
)
def test_a_damaged_record_is_named(
    refused: Callable[..., str], tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "table-4.json").write_text(content)
    said = refused("--report", tmp_path, "--docs", tmp_path / "docs")
    assert message in said
    assert "table-4.json" in said.replace(" ", "")
    assert not (tmp_path / "docs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure-99"], "no experiment is called 'figure-99'; there are figure-2"),
        ([], "give names of experiments (or all), or --list, or --report FOLDER"),
        (["figure-2", "--list"], "give names of experiments"),
        (["figure-2", "--data", "no-such-folder"], "no-such-folder"),
        (["figure-2", "--draws", "0"], "--draws"),
    ],
)
def test_mistakes_are_refused(refused: Callable[..., str], arguments: list[str], message: str) -> None:
    assert message in refused(*arguments)
