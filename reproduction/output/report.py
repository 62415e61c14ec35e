"""The results page: every record as Markdown with its picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduction.output.record import Record, picture, read_all
from reproduction.result import VERDICTS, Table


def page(record: Record, *, results: str, level: int = 1) -> str:
    """A record as Markdown; ``results`` is the folder with the picture, seen from the page."""
    heading = f"{'#' * level} {record['title']}"
    blocks = [heading, f"*{record['source']}*", _size_of_run(record)]
    blocks += [f"**What it shows.** {record['shows']}", f"**What the paper found.** {record['paper_found']}"]
    blocks += ["**What we found.**", _findings(record["findings"])]
    blocks += ["**Data.** " + " ".join(record["data"])]
    for key in record["pictures"]:
        alternative = f"{record['title']}, {key}" if key else record["title"]
        blocks.append(f"![{alternative}]({results}/{picture(record['name'], key)})")
    for table in map(Table.from_dict, record["tables"]):
        blocks += [f"**{table.title}**", table.to_markdown()] if table.shown else []
    if record["notes"]:
        blocks.append("\n".join(f"- {note}" for note in record["notes"]))
    return "\n\n".join(blocks) + "\n"


def _size_of_run(record: Record) -> str:
    """How large the run was, in a sentence; a quick one is marked."""
    draws = "" if record["draws"] is None else f", {record['draws']} draws each"
    if record.get("trials") is not None:
        draws += f", {record['trials']} trials for whatever is tuned"
    took = f"{record['seconds']:.0f} s on {record['cores']} cores"
    if record["size"] == "quick":
        warning = "**Quick run: it shows that the experiment works; its numbers mean little.**"
        return f"{warning} {took}{draws}, seed {record['seed']}."
    return f"Full size, {took}{draws}, seed {record['seed']}."


def _findings(findings: list[dict[str, Any]]) -> str:
    """Claims, observations and verdicts as a Markdown table."""
    lines = ["| the paper | here | agrees |", "|---|---|---|"]
    for finding in findings:
        cells = (finding["claim"], finding["observed"], VERDICTS[finding["agrees"]])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


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
