"""The results page: every experiment's record, one after the other, with its picture."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from discreet.errors import SettingsInvalid
from reproduction import registry
from reproduction.writing import FIELDS, page

__all__ = ["build_report"]

_IMAGES = Path("images") / "results"
_INTRODUCTION = """# Results: the papers' figures and tables, run again

Every section is one experiment of `discreet reproduce`: what the paper shows and claims, what came out here, and
whether the two agree. "Not comparable" means that the paper's number belongs to data that were not at hand. Verdicts
are computed from the numbers, not written by hand. This page is made by `make reproduce`; the numbers behind it are
in `{folder}`.
"""


def build_report(results: Path, docs: Path, *, allow_quick: bool = False) -> Path:
    """Write ``results.md`` and its pictures into a folder of documents.

    Parameters
    ----------
    results
        Folder that `reproduction.writing.write` filled.
    docs
        Gets ``results.md`` and ``images/results``.
    allow_quick
        Take quick runs too; the page marks them.
    """
    records = _records(results)
    quick = [record["name"] for record in records if record["size"] == "quick"]
    if quick and not allow_quick:
        raise SettingsInvalid(
            f"{', '.join(quick)} in {results} come from quick runs, whose numbers mean little; run them in full, "
            "or use --allow-quick, which marks them"
        )
    pictures = docs / _IMAGES
    pictures.mkdir(parents=True, exist_ok=True)
    for record in records:
        for kind in ("png", "svg") if record["picture"] else ():
            shutil.copyfile(results / f"{record['name']}.{kind}", pictures / f"{record['name']}.{kind}")
    introduction = _INTRODUCTION.format(folder=Path(os.path.relpath(results, docs.parent)).as_posix())
    sections = [page(record, images=f"{_IMAGES.as_posix()}/", level=2) for record in records]
    target = docs / "results.md"
    target.write_text("\n".join([introduction, _summary(records), *sections]), encoding="utf-8")
    return target


def _records(results: Path) -> list[dict[str, Any]]:
    """In the registry's order; a record of an experiment that no longer exists is left out."""
    files = [results / f"{name}.json" for name in registry.names()]
    records = [_read(file) for file in files if file.is_file()]
    if not records:
        raise SettingsInvalid(
            f"{results} holds no results; fill it with: discreet reproduce all --out {results}"
        )
    return records


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise SettingsInvalid(f"{file} is not valid JSON ({error}); run the experiment again") from None
    if not isinstance(content, dict) or not set(content) >= FIELDS:
        raise SettingsInvalid(f"{file} is not the record of an experiment; run it again")
    return content


def _summary(records: list[dict[str, Any]]) -> str:
    lines = ["| experiment | agrees | does not | not comparable | run |", "|---|---|---|---|---|"]
    for record in records:
        verdicts = [finding["agrees"] for finding in record["findings"]]
        counts = " | ".join(str(verdicts.count(verdict)) for verdict in (True, False, None))
        lines.append(f"| [{record['title']}](#{_anchor(record['title'])}) | {counts} | {record['size']} |")
    return "\n".join(lines) + "\n"


def _anchor(title: str) -> str:
    """As GitHub makes it: lower case, spaces to hyphens, nothing but letters, digits and hyphens."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c in "-_")
