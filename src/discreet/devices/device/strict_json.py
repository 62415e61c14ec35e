"""JSON from a server that is not trusted: one object, no field twice, no NaN or infinity."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["is_number", "read_object"]


def read_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object in ``text``; a ValueError for anything else."""
    try:
        # The module would take bytes for UTF-16 or UTF-32 where they look like it.
        text = text if isinstance(text, str) else str(text, "utf-8")
        found = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return found


def is_number(value: object) -> bool:
    """Whether a value is a float, or a whole number that a float holds exactly."""
    return type(value) is float or (type(value) is int and abs(value) < 1 << 53)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is given twice")
    return fields
