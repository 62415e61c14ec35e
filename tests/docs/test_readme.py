"""What the documents say must run."""

import doctest
import importlib
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli import main

ROOT = Path(__file__).parents[2]


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
