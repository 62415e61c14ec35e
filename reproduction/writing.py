"""An experiment's files: tables as CSV, everything as JSON, a page, a picture, in one flat folder."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from discreet import __version__
from reproduction import plotting
from reproduction.experiment import Finished
from reproduction.result import VERDICTS

__all__ = ["FIELDS", "findings_table", "page", "record", "size_of_run", "write"]

FIELDS = frozenset(
    [
        "name",
        "title",
        "source",
        "shows",
        "paper_found",
        "size",
        "seed",
        "draws",
        "seconds",
        "cores",
        "data",
        "notes",
        "findings",
        "tables",
        "picture",
    ]
)
"""What a page is made of."""


def write(finished: Finished, folder: Path) -> list[Path]:
    """Write ``NAME.csv``, ``.md``, ``.png``, ``.svg`` and, last, ``NAME.json``; give back their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    name, result = finished.experiment.name, finished.result
    contents: dict[str, bytes] = {}
    for table in result.tables:
        contents[f"{name}{'-' if table.key else ''}{table.key}.csv"] = table.to_csv().encode()
    if result.figure is not None:
        for kind in ("png", "svg"):
            contents[f"{name}.{kind}"] = plotting.image(result.figure, kind)
    contents[f"{name}.md"] = page(record(finished)).encode()
    content = {**record(finished), "files": [*contents, f"{name}.json"]}
    contents[f"{name}.json"] = (json.dumps(_finite(content), indent=1, ensure_ascii=False) + "\n").encode()
    # Without its JSON file an experiment has no result: the old one goes first, the new one comes last.
    for file in _written_before(folder, name) - set(contents) | {f"{name}.json"}:
        (folder / file).unlink(missing_ok=True)
    for file, text in contents.items():
        (folder / file).write_bytes(text)
    return [folder / file for file in contents]


def _written_before(folder: Path, name: str) -> set[str]:
    """What the last run left, by its own record."""
    try:
        files = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["files"]
        return {file for file in files if file.startswith(name) and Path(file).name == file}
    except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return set()


def record(finished: Finished) -> dict[str, Any]:
    """Everything but the picture, as it goes into the JSON file."""
    experiment, result = finished.experiment, finished.result
    return {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "shows": experiment.shows,
        "paper_found": experiment.paper_found,
        "size": finished.size,
        "seed": finished.seed,
        "draws": finished.draws,
        "seconds": round(finished.seconds, 2),
        "cores": os.cpu_count(),
        "version": __version__,
        "data": list(result.data),
        "notes": list(result.notes),
        "findings": [finding.to_dict() for finding in result.findings],
        "tables": [table.to_dict() for table in result.tables],
        "picture": result.figure is not None,
    }


def page(content: dict[str, Any], *, images: str = "", level: int = 1) -> str:
    """A record as Markdown; ``images`` is where the picture lies, seen from the page."""
    heading = f"{'#' * level} {content['title']}"
    blocks = [heading, f"*{content['source']}*", size_of_run(content)]
    blocks += [
        f"**What it shows.** {content['shows']}",
        f"**What the paper found.** {content['paper_found']}",
    ]
    blocks += ["**What we found.**", findings_table(content["findings"])]
    blocks += ["**Data.** " + " ".join(content["data"])]
    if content["picture"]:
        blocks.append(f"![{content['title']}]({images}{content['name']}.png)")
    for table in content["tables"]:
        blocks += [f"**{table['title']}**", table["markdown"]] if table["shown"] else []
    if content["notes"]:
        blocks.append("\n".join(f"- {note}" for note in content["notes"]))
    return "\n\n".join(blocks) + "\n"


def size_of_run(content: dict[str, Any]) -> str:
    """How large the run was, in a sentence; a quick one is marked."""
    draws = "" if content["draws"] is None else f", {content['draws']} draws each"
    took = f"{content['seconds']:.0f} s on {content['cores']} cores"
    if content["size"] == "quick":
        warning = "**Quick run: it shows that the experiment works; its numbers mean little.**"
        return f"{warning} {took}{draws}, seed {content['seed']}."
    return f"Full size, {took}{draws}, seed {content['seed']}."


def findings_table(findings: list[dict[str, Any]]) -> str:
    """Claims, observations and verdicts as a Markdown table."""
    lines = ["| the paper | here | agrees |", "|---|---|---|"]
    for finding in findings:
        cells = (finding["claim"], finding["observed"], VERDICTS[finding["agrees"]])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _finite(content: Any) -> Any:
    """JSON knows no infinity: it is written as text."""
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_finite(value) for value in content]
    if isinstance(content, float) and math.isinf(content):
        return "infinity" if content > 0 else "-infinity"
    return content
