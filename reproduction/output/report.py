"""The results page: every experiment's record, one after the other, with its picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from reproduction.output.page import page
from reproduction.output.record import Record, read_all

_INTRODUCTION = """# Results: the papers' figures and tables, run again

Every section is one experiment of `python -m reproduction`: what the paper shows and claims, what came out here, and
whether the two agree. "Not comparable" means that the paper's number belongs to data that were not at hand. Verdicts
are computed from the numbers, not written by hand. `make reproduce` runs the experiments and writes their records to
`{folder}`; `make results` makes this page from the records.
"""


def build_report(results: Path, docs: Path, *, allow_quick: bool = False) -> Path:
    """Write ``results.md`` into a folder of documents; its pictures stay where they are."""
    text = results_page(results, docs, allow_quick=allow_quick)
    docs.mkdir(parents=True, exist_ok=True)
    target = docs / "results.md"
    target.write_text(text, encoding="utf-8")
    return target


def results_page(results: Path, docs: Path, *, allow_quick: bool = False) -> str:
    """The page as it would lie in ``docs``."""
    records = read_all(results, allow_quick=allow_quick)
    introduction = _INTRODUCTION.format(folder=_relative(results, docs.parent))
    sections = [page(record, results=_relative(results, docs), level=2) for record in records]
    return "\n".join([introduction, _summary(records), *sections])


def _relative(path: Path, start: Path) -> str:
    return Path(os.path.relpath(path, start)).as_posix()


def _summary(records: Sequence[Record]) -> str:
    lines = ["| experiment | agrees | does not | not comparable | run |", "|---|---|---|---|---|"]
    for record in records:
        verdicts = [finding["agrees"] for finding in record["findings"]]
        counts = " | ".join(str(verdicts.count(verdict)) for verdict in (True, False, None))
        lines.append(f"| [{record['title']}](#{_anchor(record['title'])}) | {counts} | {record['size']} |")
    return "\n".join(lines) + "\n"


def _anchor(title: str) -> str:
    """As GitHub makes it: lower case, spaces to hyphens, nothing but letters, digits and hyphens."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")
