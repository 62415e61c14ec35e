"""Hooks of mkdocs: pages that are made, and links that lead out of ``docs``."""

from __future__ import annotations

from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from manual.outside import ROOT, outside_pages, with_links
from manual.reference import reference_pages
from manual.results import results_pages

__all__ = ["on_config", "on_files", "on_page_markdown"]

_RESULTS = results_pages((ROOT / "docs/results.md").read_text(encoding="utf-8"))
_PAGES = outside_pages() | {f"docs/{page}": page for page in _RESULTS}
_SOURCES = {page: source for source, page in outside_pages().items() if page != "index.md"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the parts of the table of contents that follow from what there is."""
    parts: dict[str, list[Any]] = {
        "RESULTS": [{"Overview": "results.md"}, *(page for page in _RESULTS if page != "results.md")],
        "MEASURED": [page for page in _PAGES.values() if page.startswith("measured/")],
        "PROOFS": [page for page in _PAGES.values() if page.startswith("proofs/")],
        "COMMANDS": [page for page in reference_pages() if page.startswith("reference/commands/")],
        "LAB": [f"lab/{file.name}" for file in sorted((ROOT / "docs/lab").glob("*.md"))],
        "DECISIONS": [
            {"Overview": "decisions/README.md"},
            *(f"decisions/{file.name}" for file in sorted((ROOT / "docs/decisions").glob("0*.md"))),
        ],
    }
    assert config.nav is not None
    config.nav = _filled(config.nav, parts)
    return config


def _filled(nav: Any, parts: dict[str, list[Any]]) -> Any:
    if isinstance(nav, list):
        return [_filled(one, parts) for one in nav]
    if isinstance(nav, dict):
        return {title: _filled(inner, parts) for title, inner in nav.items()}
    return parts.get(nav, nav)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is not in ``docs``."""
    made = {page: text for page, text in _RESULTS.items() if page != "results.md"} | reference_pages()
    for source, page in outside_pages().items():
        if page != "index.md":
            made[page] = (ROOT / source).read_text(encoding="utf-8")
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    for picture in [
        *ROOT.glob("reproduction/results/*.svg"),
        *ROOT.glob("docs/images/*"),
        *ROOT.glob("benchmarks/results/*.svg"),
    ]:
        files.append(File.generated(config, f"pictures/{picture.name}", content=picture.read_bytes()))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links of the repository links of the manual."""
    place = page.file.src_uri
    text = _RESULTS["results.md"] if place == "results.md" else markdown
    source = _SOURCES.get(place) or ("docs/results.md" if place.startswith("results/") else f"docs/{place}")
    return with_links(text, source, place, _PAGES)
