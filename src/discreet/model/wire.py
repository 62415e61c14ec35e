"""Frozen dataclasses as plain JSON and named arrays, and back: the one form in which public things travel.

A field that is an array goes to the arrays under its path (``side.factors``); everything else is JSON. Reading is
strict and follows the type of each field, so that only what could have been written comes back: nothing missing,
nothing added, no infinities, arrays of the right kind. Whether they fit each other is for their owner to check, with
`check_shapes` and `check_rows`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from discreet.errors import ModelInvalid
from discreet.types import AnyArray, Indices, Ints

__all__ = ["KIND", "check_rows", "check_shapes", "from_parts", "to_parts"]

_LARGEST = 1e100  # no rating, factor or penalty is near; products and sums of squares stay finite
KIND = "class"
"""Key under which a dataclass says what it is; a word of the language, so no field has this name."""

T = TypeVar("T")
Arrays = dict[str, AnyArray]


def to_parts(value: Any) -> tuple[Any, Arrays]:
    """A dataclass as a JSON value, and its arrays by path."""
    arrays: Arrays = {}
    return _write(value, "", arrays), arrays


def from_parts(wanted: type[T], content: Any, arrays: Mapping[str, AnyArray]) -> T:
    """The dataclass back; `ModelInvalid` for anything that :func:`to_parts` would not have written for this type."""
    left = dict(arrays)
    read: T = _read(wanted, content, "", left)
    if left:
        raise ModelInvalid(f"there are arrays too many: {', '.join(sorted(left))}")
    return read


def _write(value: Any, path: str, arrays: Arrays) -> Any:
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return None
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        fields = {name: _write(getattr(value, name), _join(path, name), arrays) for name in names}
        # An array that is there is said by its name among the arrays.
        present = {name: one for name, one in fields.items() if _join(path, name) not in arrays}
        return {KIND: type(value).__name__, **present}
    if isinstance(value, tuple | list):
        return [_write(one, _join(path, str(number)), arrays) for number, one in enumerate(value)]
    return value.item() if isinstance(value, np.generic) else value


def _read(wanted: Any, content: Any, path: str, arrays: Arrays) -> Any:
    origin = get_origin(wanted)
    if origin is np.ndarray:
        return _array(wanted, content, path, arrays)
    if origin in (Union, types.UnionType):
        return _union(get_args(wanted), content, path, arrays)
    if origin is tuple:
        return _tuple(get_args(wanted), content, path, arrays)
    if origin is Literal:
        if content not in get_args(wanted) or isinstance(content, bool):
            raise ModelInvalid(f"{path} is {content!r}")
        return content
    if dataclasses.is_dataclass(wanted):
        return _dataclass(wanted, content, path, arrays)
    return _scalar(wanted, content, path)


def _dataclass(wanted: Any, content: Any, path: str, arrays: Arrays) -> Any:
    hints = get_type_hints(wanted)
    names = [field.name for field in dataclasses.fields(wanted) if field.init]
    if not isinstance(content, dict) or content.get(KIND) != wanted.__name__:
        raise ModelInvalid(f"{path or 'the whole'} is no {wanted.__name__}")
    if unknown := set(content) - {KIND, *names}:
        raise ModelInvalid(f"{path or wanted.__name__} has fields too many: {', '.join(sorted(unknown))}")
    values = {}
    for name in names:
        place = _join(path, name)
        if name in content and place in arrays:
            raise ModelInvalid(f"{place} is there twice, as an array and beside it")
        if name not in content and not any(key == place or key.startswith(place + ".") for key in arrays):
            raise ModelInvalid(f"{place} is missing")
        values[name] = _read(hints[name], content.get(name, _ABSENT), place, arrays)
    try:
        return wanted(**values)
    except ModelInvalid:
        raise
    except Exception as error:  # whatever a class refuses in its own words
        raise ModelInvalid(f"{path or wanted.__name__} cannot be used: {error}") from None


_ABSENT = object()


def _union(options: tuple[Any, ...], content: Any, path: str, arrays: Arrays) -> Any:
    if content is None and path not in arrays and type(None) in options:
        return None
    if path in arrays:
        options = tuple(one for one in options if get_origin(one) is np.ndarray)
    elif isinstance(content, dict):
        options = tuple(one for one in options if getattr(one, "__name__", None) == content.get(KIND))
    else:
        options = tuple(one for one in options if one is not type(None) and not dataclasses.is_dataclass(one))
    if len(options) == 1:
        return _read(options[0], content, path, arrays)
    for one in options:
        with contextlib.suppress(ModelInvalid):
            return _read(one, content, path, arrays)
    raise ModelInvalid(f"{path} is none of what it may be")


def _tuple(options: tuple[Any, ...], content: Any, path: str, arrays: Arrays) -> Any:
    if not isinstance(content, list):
        raise ModelInvalid(f"{path} is no list")
    if len(options) == 2 and options[1] is Ellipsis:
        options = (options[0],) * len(content)
    if len(options) != len(content):
        raise ModelInvalid(f"{path} has {len(content)} entries and not {len(options)}")
    both = enumerate(zip(options, content, strict=True))
    return tuple(_read(one, item, f"{path}.{number}", arrays) for number, (one, item) in both)


def _array(wanted: Any, content: Any, path: str, arrays: Arrays) -> AnyArray:
    if path not in arrays or content not in (None, _ABSENT):
        raise ModelInvalid(f"{path} is missing")
    array = arrays.pop(path)
    (kind,) = get_args(get_args(wanted)[1])
    if array.dtype != np.dtype(kind):
        raise ModelInvalid(f"{path} has the type {array.dtype} and not {np.dtype(kind)}")
    if array.dtype.kind == "f":
        most = min(_LARGEST, float(np.finfo(array.dtype).max))
        if not (np.abs(array) <= most).all():
            raise ModelInvalid(f"{path} has numbers that are not finite, or beyond {_LARGEST:g}")
    return array


def _scalar(wanted: Any, content: Any, path: str) -> Any:
    if wanted is float and isinstance(content, int | float) and not isinstance(content, bool):
        try:
            number = float(content)
        except OverflowError:  # a whole number that no double holds
            number = math.inf
        if not abs(number) <= _LARGEST:
            raise ModelInvalid(f"{path} is {repr(content)[:100]} and not a finite number of a usable size")
        return number
    if wanted in (int, bool, str) and type(content) is wanted:
        return content
    shown = "missing" if content is _ABSENT else repr(content)[:100]
    raise ModelInvalid(f"{path} is {shown} and not {getattr(wanted, '__name__', wanted)}")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def check_shapes(owner: Any, **shapes: tuple[int, ...]) -> None:
    """Refuse arrays of another shape, and numbers that are not finite (`ModelInvalid`)."""
    for name, shape in shapes.items():
        array = getattr(owner, name)
        if array is not None and array.shape != shape:
            raise ModelInvalid(f"{name} has the shape {array.shape}, not {shape}")
        if array is not None and not np.isfinite(array).all():
            raise ModelInvalid(f"{name} has numbers that are not finite")


def check_rows(starts: Ints, columns: Indices, width: int, what: str) -> None:
    """Refuse compressed rows that do not rise from 0 to their end, or name a column that is not there."""
    entries = len(columns)
    # Compared, not subtracted: differences of numbers far apart wrap around.
    if starts[0] != 0 or starts[-1] != entries or (starts[1:] < starts[:-1]).any():
        raise ModelInvalid(f"the rows of {what} must rise from 0 to their number")
    if entries and (columns.min() < 0 or columns.max() >= width):
        raise ModelInvalid(f"{what} names something that is not there")
