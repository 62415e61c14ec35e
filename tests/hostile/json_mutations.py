"""JSON that is well formed, or nearly, and says something else."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

from tests.hostile.byte_mutations import damage

__all__ = ["ODD", "mutate_json", "mutate_value", "text_of"]

_RAW = "\x01raw:"


def _raw(text: str) -> str:
    """A text that stands for itself in the output, without quotation marks."""
    return _RAW + text


# What Python's writer would not write, or not like this.
_LITERALS = (
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-1e999",
        "1E400",
        "0x10",
        "01",
        "1.",
        ".5",
        "+1",
        "--1",
        "nul",
    ),
    *("9" * 400, "9" * 5000, "-" + "9" * 400, "1e-999", "-0", "-0.0", "4.9e-324", "1.7976931348623157e308"),
    *("[" * 2000 + "]" * 2000, '{"a":' * 1000 + "1" + "}" * 1000, "[" * 60_000, "'single'", "1 // comment"),
    *('"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"\\x41"', '"\x00"', '"tab\there"', '"unterminated'),
)
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 2**31, 2**53 + 1, 2**63, -(2**63), 2**64, 10**30, 10**400),
    *(0.5, -0.5, 1e-300, 1e308, -1e308, 1.0, 3.9999999999999996),
    *("", " ", "0", "1", "-1", "nan", "inf", "true", "null", "x" * 300, "x" * 100_000, "é"),
    *("e\u0301", "\u202e", "\ufeff"),
    *("../../../../etc/passwd", "/etc/passwd", "C:\\x", "a\nb", "<script>", "{0}", "%s", "[bold]", "\U0001f4a9", "١٢"),
    *([], {}, [[]], [{}], {"": None}, [None], [0] * 1000, ["a", "a"], [1, "1"], {"class": "ItemSide"}, "0" * 64),
    *(map(_raw, _LITERALS)),
)  # fmt: skip


def mutate_json(draw: Random, body: bytes) -> bytes:
    """Bytes of JSON with something wrong, in value, text or encoding."""
    if draw.random() < 0.25:
        return damage(draw, body)
    value = json.loads(body)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        value = mutate_value(draw, value)
    text = text_of(value, draw)
    form = draw.randrange(40)
    if form == 0:
        return b"\xef\xbb\xbf" + text.encode("utf-8", "surrogatepass")
    if form < 4:
        return text.encode(("utf-16", "utf-32", "utf-16-be")[form - 1], "surrogatepass")
    return text.encode("utf-8", "surrogatepass")


def text_of(value: Any, draw: Random) -> str:
    """As text, with or without whitespace; raw literals stand for themselves."""
    indent = draw.choice((None, None, 1, 2, "\t"))
    text = json.dumps(_unique(value), indent=indent, ensure_ascii=draw.random() < 0.5)
    for number, literal in enumerate(_LITERALS):
        text = text.replace(json.dumps(f"{_RAW}{number}"), literal)
    return text.replace(json.dumps(_TWICE)[1:-1], "")


def mutate_value(draw: Random, value: Any) -> Any:
    """The value with one place in it changed."""
    holders = [(holder, key) for holder, key in _places(value)]
    if not holders:
        return _odd(draw)
    holder, key = draw.choice(holders)
    kind = draw.randrange(10)
    if kind <= 4:
        holder[key] = _odd(draw)
    elif kind == 5:
        del holder[key]
    elif kind == 6:
        holder[key] = _near(draw, holder[key])
    elif kind == 7 and isinstance(holder, dict):
        holder[draw.choice((f"{_TWICE}{key}", "extra", "__class__", "", f" {key}", key.upper()))] = _odd(draw)
    elif kind == 8:
        other, place = draw.choice(holders)
        holder[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(holder[key])
    elif isinstance(holder, list):
        holder.insert(key, copy.deepcopy(draw.choice(holder)))
    else:
        holder[key] = [holder[key]]
    return value


_TWICE = "\x02"
"""Before a key in a dictionary: the same key a second time, once it is text."""


def _odd(draw: Random) -> Any:
    """A copy: the next mutation may change it."""
    return copy.deepcopy(draw.choice(ODD))


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict | list) and len(one) < 900:
            keys = list(one) if isinstance(one, dict) else range(len(one))
            found += [(one, key) for key in keys]
            left += [one[key] for key in keys]
    return found


def _near(draw: Random, value: Any) -> Any:
    """Almost the same: what a check of mere plausibility lets through."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + draw.choice((-1, 1, 7))
    if isinstance(value, float):
        return value * draw.choice((0.5, 0.999, 1.001, 2.0, -1.0, 1e-9, 1e9))
    if isinstance(value, str):
        return draw.choice(
            (value[:-1], value + " ", value.upper(), value[::-1], value + "\0", "\u200b" + value)
        )
    if isinstance(value, list):
        return draw.choice((value[::-1], value[:-1], value * 2))
    return dict(reversed(value.items()))


def _unique(value: Any) -> Any:
    """Raw literals by their number: as text they may hold anything."""
    if isinstance(value, str) and value.startswith(_RAW) and value[len(_RAW) :] in _LITERALS:
        return f"{_RAW}{_LITERALS.index(value[len(_RAW) :])}"
    if isinstance(value, list):
        return [_unique(one) for one in value]
    if isinstance(value, dict):
        return {key: _unique(one) for key, one in value.items()}
    return value
