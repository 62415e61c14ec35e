"""When rows happened, as numbers that sort: in a format that is stated, or refused. For the holder alone."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from discreet.errors import RatingsInvalid, SettingsInvalid

__all__ = ["read_moments"]


def read_moments(values: pl.Series, time_format: str | None) -> pl.Series:
    """One number for each row, and none where the time is missing.

    Values are numbers, dates of a typed table, or texts: as the format says (as for ``strptime``), or without one all
    of them numbers, or all in ISO 8601. The first row whose time cannot be read is refused: no text sorts as a text.
    """
    if values.dtype in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if values.dtype != pl.String:
        if time_format is not None:
            raise SettingsInvalid(f"--time-format is for texts; the column of times holds {values.dtype}")
        if not (values.dtype.is_temporal() or values.dtype.is_numeric() or values.dtype == pl.Null):
            raise RatingsInvalid(f"the column of times holds {values.dtype}, not times")
        return values.to_physical()
    texts = values.str.strip_chars()
    texts = texts.set(texts == "", None)
    for kind in (pl.Int64(), pl.Float64()) if time_format is None else ():
        numbers = texts.cast(kind, strict=False)
        if numbers.null_count() == texts.null_count() and not numbers.is_infinite().any():
            return numbers
    moments = {text: _moment(text, time_format) for text in texts.drop_nulls().unique()}
    found = texts.replace_strict(moments, default=None, return_dtype=pl.Int64)
    wrong = (found.is_null() & texts.is_not_null()).arg_true()
    if len(wrong):
        why = "neither a number nor ISO 8601 (2024-05-01, 2024-05-01T10:00:00Z)"
        raise RatingsInvalid(
            f"row {wrong[0] + 1}: the time {texts[wrong[0]]!r} is "
            f"{why if time_format is None else f'not written as {time_format}'}; correct it, or say how times are "
            "written: --time-format '%d.%m.%Y'"
        )
    return found


def _moment(text: str, time_format: str | None) -> int | None:
    """Microseconds since 1970; where no zone is given, that of Greenwich."""
    try:
        read = datetime.fromisoformat(text) if time_format is None else datetime.strptime(text, time_format)
    except ValueError:
        return None
    read = read.replace(tzinfo=UTC) if read.tzinfo is None else read
    past = read - datetime(1970, 1, 1, tzinfo=UTC)
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds
