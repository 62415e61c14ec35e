"""What the documents say must run."""

import doctest
import importlib
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from discreet.cli import main
from discreet.data import synthetic

ROOT = Path(__file__).parents[2]


def test_the_readme_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "one user, with all of that user's ratings" in shown
    assert (tmp_path / "model" / "manifest.json").exists()


def test_the_example_of_the_methods_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The methods side by side, a search, a warm start, and one of one's own (trained in tests/conformance)."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "methods.md").read_text(), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, "methods.md", "exec"), {"__name__": "methods"})
    *table, search, costs = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\{'rank': [24], 'penalty': .*\} .* 5\.0", search)
    assert costs.endswith("for who was there in both months, 2.00 for who was there in May alone")
    errors = dict(line.split() for line in table)
    assert list(errors) == ["budgeted", "dpals", "frank-wolfe"]
    assert float(errors["budgeted"]) < min(float(errors["dpals"]), float(errors["frank-wolfe"]))


@pytest.mark.parametrize(
    ("page", "shown"), [("silos.md", "charged twice"), ("local.md", "replace all of one user's ratings")]
)
def test_the_examples_of_silos_and_devices_run(
    page: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    exec(compile(block, page, "exec"), {})
    assert shown in capsys.readouterr().out


def test_the_example_of_the_page_on_the_ledger_prints_what_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "ledger.md").read_text(), re.DOTALL)
    exec(compile(block, "ledger.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["January 1.0", "February 1.45", "March 1.81"]
    assert "has no room for epsilon 1" in lines[3]
    assert "it would be 2.123" in lines[3]


def test_the_example_of_the_page_on_lists_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "lists.md").read_text(), re.DOTALL)
    exec(compile(block, "lists.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line[:4] for line in lines[:5]] == [f"  {place}." for place in range(1, 6)]
    assert any("NOT PRIVATE" in line for line in lines)


def test_the_examples_of_plan_and_report_run(capsys: pytest.CaptureFixture[str]) -> None:
    for page in ("plan.md", "report.md"):
        (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
        exec(compile(block, page, "exec"), {})
    small, large, words, sums = capsys.readouterr().out.splitlines()
    assert small.startswith("1.0 ")
    assert large.startswith("20.0 ")
    assert "epsilon" in words
    score, parts = sums.split(" = ")
    assert score == parts


def test_plans_are_as_honest_as_the_page_says() -> None:
    """The record of `benchmarks/plan.py`: within 5 % for MovieLens 1M, and for Jester with its own spread typed in."""
    results = json.loads((ROOT / "benchmarks/results/plan.json").read_text())
    for name, key, epsilons in (
        ("ml-1m", "usual_spread", ("1", "5", "20")),
        ("jester", "own_spread", ("0.1", "0.5", "1")),
    ):
        for epsilon in epsilons:
            row = results[name]["rows"][f"private, epsilon {epsilon}"]
            assert abs(row[key]["mean"] / row["trained"] - 1.0) < 0.05


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    ("page", "number"),
    [
        ("README.md", 6),
        ("docs/methods.md", 1),
        ("docs/silos.md", 3),
        ("docs/local.md", 2),
        ("docs/ledger.md", 5),
        ("docs/plan.md", 1),
        ("docs/report.md", 4),
    ],
)
def test_the_command_lines_of_the_documents_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, number: int
) -> None:
    monkeypatch.chdir(tmp_path)
    market = synthetic.market(2_000, 100, 60_000, rng=0)
    users = [
        user
        for user, count in zip(market.user_ids, market.indptr[1:] - market.indptr[:-1], strict=True)
        for _ in range(count)
    ]
    frame = pl.DataFrame({"user": users, "item": market.catalogue.ids[market.items], "rating": market.values})
    test = frame.gather_every(20)
    frame.join(test, on=["user", "item"], how="anti").write_csv(tmp_path / "ratings.csv")
    test.write_csv(tmp_path / "test.csv")
    pl.DataFrame({"item": market.catalogue.ids}).write_csv(tmp_path / "items.csv")
    (tmp_path / "my-history.csv").write_text("item,rating\nitem-0003,5\nitem-0007,1\n")
    (tmp_path / "space.toml").write_text("rank = [2, 4]\npenalty = {low = 3.0, high = 30.0, log = true}\n")
    text = (ROOT / page).read_text().replace("\\\n", " ")
    commands = re.findall(r"^    discreet (.*)$", text, re.MULTILINE)
    assert len(commands) == number
    for command in commands:
        done = CliRunner().invoke(main, shlex.split(command))
        assert done.exit_code == 0, (command, done.output)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_the_command_lines_of_the_page_on_statements_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "tests/fixtures/models/central", tmp_path / "model")
    text = (ROOT / "docs/statement.md").read_text()
    commands = re.findall(r"^    ((?:discreet|openssl) .*?)(?: +#.*)?$", text, re.MULTILINE)
    assert len(commands) == 8
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "discreet":
            assert CliRunner().invoke(main, arguments).exit_code == 0, command
        else:
            subprocess.run([program, *arguments], check=True, capture_output=True)


@pytest.mark.parametrize(
    "name",
    [
        "discreet.methods.budgeted.private.contributions",
        "discreet.methods.published.private.dpals",
        "discreet.methods.published.private.frank_wolfe",
        "discreet.methods.published.private.projected_gradient",
        "discreet.methods.published.private.svd",
        "discreet.privacy.budget",
        "discreet.privacy.account.ledger_file",
        "discreet.catalogue",
        "discreet.model.item_side",
    ],
)
def test_examples_in_docstrings(name: str) -> None:
    assert (
        doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
    )


def test_links_in_the_documents_lead_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if not link.startswith("http"):
                assert (document.parent / link).exists(), (document.name, link)


def test_files_that_the_documents_name_are_there() -> None:
    """Paths in backticks, from the root or from the package; NAME and * stand for anything."""
    pattern = r"`(?:pytest |python |bash )?([a-z_]+/[A-Za-z0-9_./*-]+\.(?:py|md|json|toml))[^`]*`"
    missing = []
    for document in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        if document.name in ("CHANGELOG.md", "results.md"):
            continue
        for path in re.findall(pattern, document.read_text()):
            known = (
                ROOT,
                ROOT / "src/discreet",
                ROOT / "src",
                ROOT / "src/discreet/methods/published/public",
            )
            if "NAME" not in path and not any(list(base.glob(path)) for base in known):
                missing.append((document.name, path))
    assert missing == []


def test_decisions_are_few_short_and_listed() -> None:
    folder = ROOT / "docs/decisions"
    listed = (folder / "README.md").read_text()
    files = sorted(folder.glob("0*.md"))
    assert len(files) <= 45
    for file in files:
        lines = file.read_text().splitlines()
        assert len(lines) <= 15, file.name
        assert lines[2].startswith("Status: "), file.name
        assert f"({file.name})" in listed, file.name
