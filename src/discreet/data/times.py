"""When rows happened, as numbers that sort: in a format that is stated, or refused. For the holder alone."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from discreet.errors import RatingsInvalid, SettingsInvalid

__all__ = ["read_moments"]


def read_moments(values: pl.Series, time_format: str | None) -> pl.Series:
    """One number for each row, and none where the time is missing.

    Parameters
    ----------
    values
        Numbers (seconds since 1970, or any other count), dates of a typed table, or texts.
    time_format
        How texts are written, as for ``strptime``; ``None``: as numbers all of them, or all in ISO 8601.

    Raises
    ------
    RatingsInvalid
        With the first row whose time cannot be read: a text never sorts as a text.
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
    return _numbers(texts) if time_format is None else _in_format(texts, time_format)


def _numbers(texts: pl.Series) -> pl.Series:
    """Whole numbers to the last digit, fractions, or moments of ISO 8601: one of these for the whole column."""
    given = len(texts) - texts.null_count()
    for kind in (pl.Int64(), pl.Float64()):
        numbers = texts.cast(kind, strict=False)
        if len(numbers) - numbers.null_count() == given and not numbers.is_infinite().any():
            return numbers
    moments = {text: _iso(text) for text in texts.drop_nulls().unique()}
    read = texts.replace_strict(moments, default=None, return_dtype=pl.Int64)
    return _whole(read, texts, "neither a number nor ISO 8601 (2024-05-01, 2024-05-01T10:00:00Z)")


def _iso(text: str) -> int | None:
    """Microseconds since 1970; where no zone is given, that of Greenwich."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    past = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds


def _in_format(texts: pl.Series, time_format: str) -> pl.Series:
    def read(text: str) -> int | None:
        try:
            return _iso(datetime.strptime(text, time_format).isoformat())
        except ValueError:
            return None

    moments = {text: read(text) for text in texts.drop_nulls().unique()}
    found = texts.replace_strict(moments, default=None, return_dtype=pl.Int64)
    return _whole(found, texts, f"not written as {time_format}")


def _whole(found: pl.Series, texts: pl.Series, why: str) -> pl.Series:
    wrong = found.is_null() & texts.is_not_null()
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise RatingsInvalid(
            f"row {row + 1}: the time {texts[row]!r} is {why}; correct it, or say how times are written: "
            "--time-format '%d.%m.%Y'"
        )
    return found
