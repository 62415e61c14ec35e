"""An experiment's files and the results page made of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from discreet.errors import SettingsInvalid
from reproduction import (
    Column,
    Context,
    Experiment,
    Finding,
    Finished,
    Result,
    Table,
    perform,
    plotting,
)
from reproduction.report import build_report
from reproduction.writing import write

CONTEXT = Context("full", seed=4)


def run(context: Context) -> Result:
    data = context.market(quick_users=50) if context.quick else None
    context.number_of_draws(quick=1, full=3)
    figure, (axes,) = plotting.panels()
    plotting.curve(axes, [1.0, 10.0], [0.9, 0.8], [0.01, float("nan")], label="ours", number=0)
    plotting.published(axes, [1.0], [0.95])
    plotting.baseline(axes, 1.0, "trivial")
    plotting.epsilon_axis(axes, [1.0, 10.0])
    plotting.legend(axes)
    rows = [{"epsilon": 1.0, "RMSE": 0.9}, {"epsilon": float("inf"), "RMSE": float("nan")}]
    columns = (Column("epsilon"), Column("RMSE", "stars", 2))
    tables = [Table("Errors", columns, rows), Table("More", columns, rows, key="more", shown=0)]
    findings = [
        Finding("It falls.", "0.9 to 0.8.", True),
        Finding("It is 0.7.", "0.8.", False),
        Finding("x", "y", None),
    ]
    said = [] if data is None else [f"{data.sentence} Split in two."]
    return Result(tables, findings, figure, data=said or ["A made-up world."], notes=["Tuned by hand."])


def experiment(name: str = "figure-2") -> Experiment:
    return Experiment(
        name, "Figure 2: a test", "A paper, figure 2", "Something.", "Something else.", (0.1, 1), run
    )


@pytest.fixture
def finished() -> Finished:
    return perform(experiment(), CONTEXT)


def test_all_files_are_written_and_listed(finished: Finished, tmp_path: Path) -> None:
    files = write(finished, tmp_path / "new" / "folder")
    names = [
        "figure-2.csv",
        "figure-2-more.csv",
        "figure-2.png",
        "figure-2.svg",
        "figure-2.md",
        "figure-2.json",
    ]
    assert [file.name for file in files] == names
    assert all(file.stat().st_size > 0 for file in files)
    record = json.loads(files[-1].read_text())
    assert record["files"] == names
    assert (record["size"], record["seed"], record["draws"]) == ("full", 4, 3)
    assert [finding["agrees"] for finding in record["findings"]] == [True, False, None]
    assert record["tables"][0]["rows"] == [
        {"epsilon": 1.0, "RMSE": 0.9},
        {"epsilon": "infinity", "RMSE": None},
    ]


def test_what_only_the_last_run_wrote_goes(finished: Finished, tmp_path: Path) -> None:
    """A table that an experiment no longer has must not lie beside those it has; other files stay."""
    write(finished, tmp_path)
    name = finished.experiment.name
    record = json.loads((tmp_path / f"{name}.json").read_text())
    record["files"] += [f"{name}-old.csv", "other.csv", f"{name}/../../outside.csv"]
    (tmp_path / f"{name}.json").write_text(json.dumps(record))
    for file in (f"{name}-old.csv", "other.csv", f"{name}-mine.csv"):
        (tmp_path / file).write_text("x")
    write(finished, tmp_path)
    there = {path.name for path in tmp_path.iterdir()}
    assert f"{name}-old.csv" not in there
    assert {
        "other.csv",
        f"{name}-mine.csv",
        *json.loads((tmp_path / f"{name}.json").read_text())["files"],
    } <= there


def test_the_same_numbers_give_the_same_bytes(tmp_path: Path) -> None:
    for part in ("one", "two"):
        write(perform(experiment(), CONTEXT), tmp_path / part)
    for kind in ("png", "svg", "csv"):
        one, two = ((tmp_path / part / f"figure-2.{kind}").read_bytes() for part in ("one", "two"))
        assert one == two, kind


def test_the_page_has_everything_a_reader_needs(finished: Finished, tmp_path: Path) -> None:
    write(finished, tmp_path)
    page = (tmp_path / "figure-2.md").read_text()
    for part in (
        "A paper, figure 2",
        "Something else.",
        "| It is 0.7. | 0.8. | no |",
        "| x | y | not comparable |",
    ):
        assert part in page
    assert "A made-up world." in page
    assert "3 draws each, seed 4" in page
    assert "**More**" not in page


def test_the_data_are_named_even_if_the_experiment_does_not() -> None:
    quiet = Experiment("a", "", "", "", "", (0, 0), lambda c: (c.market(), run(CONTEXT))[1])
    assert perform(quiet, Context("quick")).result.data == [
        "A synthetic market (3,000 users, 500 items, 150,000 ratings).",
        "A made-up world.",
    ]


def test_the_data_are_named_once() -> None:
    said = perform(experiment(), Context("quick")).result.data
    assert len(said) == 1
    assert said[0].endswith("drawn at random. Split in two.")


def test_an_interrupted_write_leaves_no_old_record(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(finished, tmp_path)
    whole = Path.write_bytes

    def full_disk(path: Path, content: bytes) -> int:
        if path.suffix == ".svg":
            raise OSError("full")
        return whole(path, content)

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="full"):
        write(finished, tmp_path)
    assert not (tmp_path / "figure-2.json").exists()


def test_the_report_has_sections_pictures_and_a_summary(finished: Finished, tmp_path: Path) -> None:
    results, docs = tmp_path / "results", tmp_path / "docs"
    write(finished, results)
    page = build_report(results, docs)
    text = page.read_text()
    assert page == docs / "results.md"
    assert "## Figure 2: a test" in text
    assert "| [Figure 2: a test](#figure-2-a-test) | 1 | 1 | 1 | full |" in text
    assert "in `results`" in text
    assert "(images/results/figure-2.png)" in text
    for kind in ("png", "svg"):
        copied = docs / "images" / "results" / f"figure-2.{kind}"
        assert copied.read_bytes() == (results / f"figure-2.{kind}").read_bytes()


def test_the_report_refuses_quick_runs_unless_asked_and_marks_them(tmp_path: Path) -> None:
    write(perform(experiment(), Context("quick")), tmp_path)
    with pytest.raises(SettingsInvalid, match=r"figure-2 in .* quick runs.*--allow-quick"):
        build_report(tmp_path, tmp_path / "docs")
    assert not (tmp_path / "docs").exists()
    assert "**Quick run" in build_report(tmp_path, tmp_path / "docs", allow_quick=True).read_text()


def test_the_report_needs_results(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="holds no results"):
        build_report(tmp_path, tmp_path / "docs")


def test_without_matplotlib_the_extra_is_named_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    started: list[Context] = []
    late = Experiment("a", "", "", "", "", (0, 0), lambda c: (started.append(c), run(c))[1])
    with pytest.raises(SettingsInvalid, match=r"discreet\[plots\]"):
        perform(late, CONTEXT)
    assert started == []
