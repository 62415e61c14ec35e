"""Every record's tables as CSV files, and the record as a page of its own."""

from __future__ import annotations

import os
from pathlib import Path

from reproduction.output.page import page
from reproduction.output.record import read_all
from reproduction.result import Table


def write_tables(results: Path, folder: Path, *, allow_quick: bool = False) -> list[Path]:
    """Write ``NAME.csv``, ``NAME-KEY.csv`` for further tables and ``NAME.md`` of every record."""
    contents: dict[str, str] = {}
    pictures = Path(os.path.relpath(results, folder)).as_posix()
    for record in read_all(results, allow_quick=allow_quick):
        for table in map(Table.from_dict, record["tables"]):
            contents["-".join(filter(None, [record["name"], table.key])) + ".csv"] = table.to_csv()
        contents[f"{record['name']}.md"] = page(record, results=pictures)
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in contents.items():
        (folder / file).write_text(text, encoding="utf-8", newline="")
    return [folder / file for file in contents]
