"""A record as a page of Markdown."""

from __future__ import annotations

from typing import Any

from reproduction.output.record import Record, picture
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
