"""Documents that lie outside ``docs`` (proof notes, measured results) as pages of the manual, and links to them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["ROOT", "outside_pages", "with_links"]

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def outside_pages() -> dict[str, str]:
    """From a path in the repository to the place of its page in the manual."""
    pages = {
        "README.md": "index.md",
        "CHANGELOG.md": "contributors/changelog.md",
        "CONTRIBUTING.md": "contributors/contributing.md",
        "SECURITY.md": "officers/security.md",
    }
    for note in sorted(ROOT.glob("src/discreet/**/proofs/*.md")):
        room = "-".join(note.relative_to(ROOT / "src/discreet").parts[:-2])
        pages[note.relative_to(ROOT).as_posix()] = f"proofs/{room}-{note.name}"
    for table in sorted(ROOT.glob("benchmarks/results/*.md")):
        pages[table.relative_to(ROOT).as_posix()] = f"measured/{table.name}"
    return pages


def with_links(text: str, source: str, page: str, pages: Mapping[str, str]) -> str:
    """The text of a page with links that work in the manual.

    Parameters
    ----------
    text
        Markdown as it stands in the repository.
    source
        Path of the document in the repository.
    page
        Its place in the manual.
    pages
        Where documents outside ``docs`` have their pages.

    A link to a file without a page of its own (code, records) becomes the name of the file.
    """

    def changed(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        path, _, anchor = target.partition("#")
        where = os.path.normpath(os.path.join(os.path.dirname(source), path)).replace(os.sep, "/")
        found = pages.get(where)
        if found is None and where.startswith("docs/") and (ROOT / where).is_file():
            found = where.removeprefix("docs/")
        if found is None and picture:
            found = f"pictures/{Path(where).name}"
        if found is None:
            return f"{words} (`{where}`)"
        relative = os.path.relpath(found, os.path.dirname(page) or ".").replace(os.sep, "/")
        return f"{picture}[{words}]({relative}{'#' + anchor if anchor else ''})"

    pieces = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(piece if piece.startswith("```") else _LINK.sub(changed, piece) for piece in pieces)
