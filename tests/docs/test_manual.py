"""The manual is built without a warning, is complete, fetches nothing, and what it says runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli import main
from discreet.cli.group import COMMANDS
from discreet.methods.registry import METHODS
from manual.notebooks import PAGES, executed, notebook, path_of
from manual.outside import with_links
from manual.results import results_pages
from tests.docs.pages import ROOT, run_page, steps

# What has to be in what a page prints.
RUN_HERE = {
    "../README.md": ("one user, with all of that user's ratings",),
    "start/install.md": (),
    "start/first-model.md": (),
    "start/own-file.md": (),
    "guides/trusted-server.md": (),
    "guides/choosing-epsilon.md": (),
    "guides/evaluation.md": (),
    "guides/features.md": (),
    "officers/annotated-statement.md": (),
    "methods.md": ("for who was there in both months, 2.00 for who was there in May alone",),
    "silos.md": ("charged twice",),
    "local.md": ("replace all of one user's ratings",),
    "ledger.md": ("January 1.0\nFebruary 1.45\nMarch 1.81", "no room for epsilon 1", "it would be 2.123"),
    "lists.md": ("NOT PRIVATE",),
    "plan.md": ("epsilon",),
    "report.md": (" = ",),
}
SLOW = ("silos.md", "local.md", "plan.md")
# Pages whose blocks other tests run.
RUN_ELSEWHERE = {
    "statement.md": "test_readme.py",
    "silos-plan.md": "test_silos_plan.py",
    "files.md": "test_files_and_tools.py",
    "ecosystem.md": "test_files_and_tools.py",
    "scale.md": "test_scale.py",
    "service.md": "test_services.py",
    "collector.md": "test_services.py",
}


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("market")
    assert CliRunner().invoke(main, ["sample", "--users", "1200", "--out", str(folder)]).exit_code == 0
    return folder


@pytest.fixture
def at_hand(
    market: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The files of ``discreet sample`` (small), unless the page itself asks for them; for some pages, a model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    if request.node.callspec.params["page"] == "start/first-model.md":
        return
    for file in market.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    if request.node.callspec.params["page"].startswith("officers/"):
        shutil.copytree(ROOT / "tests/fixtures/models/central", tmp_path / "model")


@pytest.mark.usefixtures("at_hand", "forked")
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] if page in SLOW else []) for page in RUN_HERE]
)
def test_what_a_page_says_runs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_page(f"docs/{page}")
    printed = capsys.readouterr().out
    for words in RUN_HERE[page]:
        assert words in printed
    if page == "guides/choosing-epsilon.md":
        text = (ROOT / "docs" / page).read_text()
        assert [line in text for line in printed.splitlines()] == [True] * 6
    if page == "officers/annotated-statement.md":
        text = (ROOT / "docs" / page).read_text()
        for line in printed.splitlines():
            assert f"# {line.rsplit(' ', 1)[1]}" in text, line


def test_every_page_with_something_to_run_is_run() -> None:
    asks = {
        file.relative_to(ROOT / "docs").as_posix()
        for file in ROOT.glob("docs/**/*.md")
        if any(step.python or step.command[0] == "discreet" for step in steps(file.read_text()))
    }
    assert asks - set(RUN_HERE) - set(RUN_ELSEWHERE) == set()
    for page, test in RUN_ELSEWHERE.items():
        assert Path(page).name in (ROOT / "tests/docs" / test).read_text(), page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built strictly: a broken link, a page outside the table of contents or a bad docstring is an error."""
    folder = tmp_path_factory.mktemp("manual")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder


def test_the_manual_has_a_page_for_every_command_method_error_and_figure(site: Path) -> None:
    for name in COMMANDS:
        assert f"Usage: discreet {name}" in (site / f"reference/commands/{name}.html").read_text()
    settings = (site / "reference/settings.html").read_text()
    assert all(f'id="{name}"' in settings for name in METHODS if not name.count(":"))
    interface = (site / "reference/api.html").read_text()
    assert all(
        f'id="{name.lower()}"' in interface for name, home in discreet._HOMES.items() if "errors" not in home
    )
    found = (site / "reference/errors.html").read_text()
    assert all(f"<code>{name}</code>" in found for name, home in discreet._HOMES.items() if "errors" in home)
    figures = results_pages((ROOT / "docs/results.md").read_text())
    assert len(figures) > 20
    for page in figures:
        assert (site / page.replace(".md", ".html")).is_file()


def test_the_manual_fetches_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r"<(?:script|img|iframe|source)[^>]*\bsrc=[\"']?(https?:[^\"'> ]+)", text)
        fetched += re.findall(r"<link[^>]*\bhref=[\"']?(https?:[^\"'> ]+)", text)
        assert fetched == [], page.name


def test_links_out_of_the_documents_lead_to_their_pages() -> None:
    pages = {"src/discreet/silos/proofs/masks.md": "proofs/silos-masks.md"}
    text = "[a](../src/discreet/silos/proofs/masks.md#x) [b](../pyproject.toml) [c](https://example.org)\n```\n[d](e)\n```\n"
    made = with_links(text, "docs/silos.md", "silos.md", pages)
    assert made.startswith("[a](proofs/silos-masks.md#x) b (`pyproject.toml`) [c](https://example.org)")
    assert "[d](e)" in made


@pytest.mark.parametrize("page", PAGES)
def test_notebooks_are_those_of_the_pages(page: str) -> None:
    stored = nbformat.read(path_of(page), as_version=4)
    expected = notebook(page)
    assert [(cell.cell_type, cell.source) for cell in stored.cells] == [
        (cell.cell_type, cell.source) for cell in expected.cells
    ], "run: python -m manual.notebooks"
    outputs = [one for cell in stored.cells for one in cell.get("outputs", [])]
    assert outputs
    assert not [one for one in outputs if one.output_type == "error"]


@pytest.mark.slow
def test_a_notebook_runs(tmp_path: Path) -> None:
    """The shortest of them; what the others ask for is run page by page above."""
    made = executed(notebook("start/first-model.md"), tmp_path)
    assert (tmp_path / "model-from-python" / "manifest.json").exists()
    assert sum(bool(cell.outputs) for cell in made.cells if cell.cell_type == "code") >= 6
