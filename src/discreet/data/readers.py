"""Where ratings come from: files, queries and frames, each read into a table of the named columns.

Only the named columns are read. pandas, pyarrow and DuckDB are used when what the person hands in needs them
and are never imported otherwise.
"""

from __future__ import annotations

import glob
import importlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.catalogue import TABLE_ERRORS, as_ids, infer_ids, scan_table
from discreet.catalogue.tables import find_separator
from discreet.data.checks import Columns, check_columns
from discreet.errors import RatingsInvalid

__all__ = [
    "is_query",
    "list_files",
    "read_file",
    "read_frame",
    "read_query",
    "readable",
    "scan_files",
    "without_types",
    "write_query",
]

_PATTERN = re.compile(r"[*?\[]")
_QUERY = re.compile(r"""\s*(select|from|with)[\s("'*]""", re.IGNORECASE)


def is_query(source: object) -> bool:
    """Whether a source is SQL: a text that starts with SELECT, FROM or WITH and is not the name of a file."""
    return isinstance(source, str) and _QUERY.match(source) is not None and not _is_path(source)


def read_file(
    path: str | os.PathLike[str], columns: Columns, kind: str | None = None, separator: str | None = None
) -> pl.DataFrame:
    """Read CSV, TSV, Parquet or NDJSON, by the extension or the kind given (``".csv"``).

    A folder or a pattern (``ratings/*.parquet``) stands for all its files, one after another by their names.
    """
    typed, table = scan_files(path, columns, kind, separator)
    with readable(path):
        frame = table.collect()
    return frame if typed else without_types(frame, columns)


def scan_files(
    path: str | os.PathLike[str], columns: Columns, kind: str | None = None, separator: str | None = None
) -> tuple[bool, pl.LazyFrame]:
    """Whether its columns have types, and the table of the named columns, not read yet."""
    with readable(path):
        files = list_files(path)
        if all(file.is_file() and not file.stat().st_size for file in files):
            raise RatingsInvalid(f"{path} is empty; give a file with a header and at least one row")
        scans = [scan_table(file, kind, separator) for file in files[:1]]
        if len(files) > 1 or files[0] != Path(path):
            scans = [_scan_many(files, separator)]
        ((names, typed, table),) = scans
        check_columns(names, columns)
        return typed, table.select(columns.names())


def list_files(path: str | os.PathLike[str]) -> list[Path]:
    """The file itself, the files in a folder and below it, or those that a pattern matches; by their names."""
    place = Path(path)
    if place.is_dir():
        found = [file for file in place.rglob("*") if file.is_file() and file.name[0] not in "._"]
    elif _PATTERN.search(str(path)) and not _is_path(str(path)):
        found = [Path(name) for name in glob.glob(str(path), recursive=True) if Path(name).is_file()]
    else:
        return [place]
    if not found:
        raise RatingsInvalid(f"{path} has no files in it; name a file, a folder or a pattern with some")
    kinds = sorted({_kind(file) for file in found})
    if len(kinds) > 1:
        raise RatingsInvalid(
            f"{path} has files of several kinds ({', '.join(kinds)}); give a pattern such as *{kinds[0]}"
        )
    return sorted(found)


@contextmanager
def readable(path: object) -> Iterator[None]:
    """Say in words why a table cannot be read."""
    try:
        yield
    except TABLE_ERRORS as error:
        raise RatingsInvalid(f"{path} cannot be read: {_reason(error)}") from error


def _scan_many(files: list[Path], separator: str | None) -> tuple[list[str], bool, pl.LazyFrame]:
    kind = _kind(files[0])
    if kind in (".parquet", ".pq"):
        table = pl.scan_parquet(files, hive_partitioning=True)
    elif kind in (".csv", ".tsv"):
        separator = "\t" if kind == ".tsv" else separator or find_separator(files[0])
        table = pl.scan_csv(files, separator=separator, infer_schema=False)
    elif kind in (".ndjson", ".jsonl"):
        table = pl.scan_ndjson(files, infer_schema_length=None)
    else:
        raise ValueError(f"the extension of {files[0].name} is unknown; use .csv, .tsv, .parquet or .ndjson")
    return table.collect_schema().names(), kind not in (".csv", ".tsv"), table


def _kind(file: Path) -> str:
    return Path(file.stem if file.suffix in (".gz", ".zst") else file).suffix.lower()


def read_query(query: str, database: str | os.PathLike[str] | None, columns: Columns) -> pl.DataFrame:
    """Run a query with DuckDB, in a database file (opened read-only) or in none."""
    with _answered(query, database, columns) as answer:
        return _fetched(answer).select(columns.names())


def write_query(query: str, columns: Columns, path: Path) -> None:
    """Run a query and write the named columns of its rows to a Parquet file, in order, without holding them."""
    with _answered(query, None, columns) as answer:
        types = dict(zip(answer.columns, answer.types, strict=True))
        # Parquet has no whole numbers of 128 bits and would take them for fractions.
        wide = {name for name, kind in types.items() if str(kind) in ("HUGEINT", "UHUGEINT")}
        quoted = {name: '"' + name.replace('"', '""') + '"' for name in columns.names()}
        chosen = [f"{text}::VARCHAR AS {text}" if name in wide else text for name, text in quoted.items()]
        answer.project(", ".join(chosen)).write_parquet(os.fspath(path))


@contextmanager
def _answered(query: str, database: str | os.PathLike[str] | None, columns: Columns) -> Iterator[Any]:
    """What a query selects, not fetched yet."""
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError:
        raise RatingsInvalid("SQL needs DuckDB; install it with: pip install 'discreet[sql]'") from None
    if database is not None and not Path(database).is_file():
        raise RatingsInvalid(f"there is no database {database}")
    # Without this a table name in the query could silently mean one of our own local variables.
    config = {"python_enable_replacements": False}
    try:
        where, read_only = (":memory:", False) if database is None else (os.fspath(database), True)
        with duckdb.connect(where, read_only=read_only, config=config) as connection:
            answer = connection.sql(query)
            if answer is None:
                raise RatingsInvalid("the query gives no table; write one that selects rows")
            check_columns(answer.columns, columns)
            yield answer
    except duckdb.Error as error:
        raise RatingsInvalid(f"the query failed: {_reason(error)}") from error


def read_frame(frame: Any, columns: Columns) -> pl.DataFrame:
    """Take the named columns of a polars, pandas or Arrow table, or of a mapping of columns."""
    try:
        if isinstance(frame, pl.LazyFrame):
            check_columns(frame.collect_schema().names(), columns)
            return frame.select(columns.names()).collect()
        if isinstance(frame, pl.DataFrame):
            check_columns(frame.columns, columns)
            return frame.select(columns.names())
        if isinstance(frame, Mapping) or type(frame).__module__.partition(".")[0] == "pandas":
            return _from_columns(frame, columns)
        if hasattr(frame, "__arrow_c_stream__"):
            return read_frame(pl.DataFrame(frame), columns)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise RatingsInvalid(f"the frame cannot be read: {_reason(error)}") from error
    raise RatingsInvalid(
        f"ratings cannot be read from {type(frame).__name__}; give a polars, pandas or Arrow table, or a path"
    )


def without_types(frame: pl.DataFrame, columns: Columns) -> pl.DataFrame:
    """Finish a table that came as text: no blank rows at the end, and integer ids where all of them are."""
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series().to_numpy()
    if len(blank) and blank[-1]:
        frame = frame.head(0 if blank.all() else len(blank) - int(np.argmin(blank[::-1])))
    return frame.with_columns(infer_ids(frame[columns.user]), infer_ids(frame[columns.item]))


def _fetched(answer: Any) -> pl.DataFrame:
    try:
        frame: pl.DataFrame = answer.pl()
    except ImportError:  # without pyarrow; DuckDB 2.0 then complains of leaks when the program ends
        frame = pl.DataFrame(answer)
    return frame


def _from_columns(frame: Any, columns: Columns) -> pl.DataFrame:
    """Column by column, so that a wide frame is not converted as a whole and giant ids survive."""
    names = {str(name): name for name in frame}
    check_columns(list(names), columns)
    table = {}
    for column in columns.names():
        values = _plain(frame[names[column]])
        try:
            table[column] = pl.Series(values, strict=False) if column == columns.rating else as_ids(values)
        except TypeError as error:
            raise RatingsInvalid(f"column {column!r}: {error}") from error
        except ImportError:
            raise RatingsInvalid(
                f"column {column!r} needs pyarrow; install it with: pip install pyarrow"
            ) from None
    return pl.DataFrame(table)


def _plain(values: Any) -> Any:
    """A column as polars takes it without pyarrow, where that is possible."""
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype):
        if dtype.kind != "O":
            return np.asarray(values)
        return list(values.where(values.notna(), None) if hasattr(values, "notna") else values)
    return list(values) if dtype is None else pl.Series(values)


def _is_path(source: str) -> bool:
    try:
        return Path(source).exists()
    except (OSError, ValueError):  # too long for a name, or with a null byte
        return False


def _reason(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]
