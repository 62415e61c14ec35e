"""Commands from typed requests: a field is an option, its type says what may be given, its default what is meant.

    class Sample(Request):
        out: Annotated[str, Option("Folder to put the files into.", metavar="DIR")]
        users: Annotated[int, Field(ge=100), Option("How many people rate.")] = 6_000

    @takes(Sample, "sample")
    def command(request: Sample) -> None: ...

gives ``--out DIR``, which is required, and ``--users``. A request may inherit the options of others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import click
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

__all__ = ["Argument", "Option", "Request", "options", "takes"]

R = TypeVar("R", bound="Request")


class Request(BaseModel):
    """What a command was asked for. Its fields are the command's options."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


@dataclass(frozen=True)
class Argument:
    """A word without a name; ``metavar`` is what help calls it."""

    metavar: str


@dataclass(frozen=True)
class Option:
    """An option.

    Parameters
    ----------
    words
        For ``--help``.
    name
        As it is typed, if not as the field is called.
    metavar, callback, envvar
        As click knows them.
    value
        What the option means where it is given without a value.
    eager
        Whether it is read before others, because it says what they are.
    """

    words: str
    name: str | None = None
    metavar: str | None = None
    callback: Callable[[click.Context, click.Parameter, Any], Any] | None = None
    envvar: str | None = None
    value: str | None = None
    eager: bool = False


def options(kind: type[R]) -> Callable[[Callable[[R], Any]], Callable[..., Any]]:
    """Add a request's options to a function that takes the request."""

    def decorate(function: Callable[[R], Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(**given: Any) -> Any:
            return function(kind(**given))

        added: Callable[..., Any] = called
        for name in reversed(_in_order(kind)):
            added = _parameter(name, kind.model_fields[name])(added)
        return added

    return decorate


def takes(
    kind: type[R], name: str, cls: type[click.Command] = click.Command
) -> Callable[[Callable[[R], Any]], click.Command]:
    """Make a command of this name of a function that takes a request of this kind."""

    def decorate(function: Callable[[R], Any]) -> click.Command:
        return click.command(name, cls=cls)(options(kind)(function))

    return decorate


def _in_order(kind: type[Request]) -> list[str]:
    """Words without a name first, then what is required, then a request's own options, then those it inherits."""
    fields = kind.model_fields
    own_first = dict.fromkeys(name for one in kind.__mro__ for name in vars(one).get("__annotations__", ()))

    def place(name: str) -> tuple[bool, bool]:
        return not isinstance(_told(fields[name]), Argument), not fields[name].is_required()

    return sorted((name for name in own_first if name in fields), key=place)


def _told(info: FieldInfo) -> Argument | Option:
    return next(one for one in info.metadata if isinstance(one, Argument | Option))


def _parameter(name: str, info: FieldInfo) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    told = _told(info)
    if isinstance(told, Argument):
        several = get_origin(info.annotation) is tuple
        return click.argument(name, metavar=told.metavar, nargs=-1 if several else 1, required=True)
    settings: dict[str, Any] = {"help": told.words, "metavar": told.metavar, **_kind_of(info)}
    if info.is_required():
        settings["required"] = True
    elif not settings.get("multiple"):
        settings["default"] = info.default
        settings["show_default"] = info.default not in (None, False)
    if told.callback is not None:
        settings["callback"] = told.callback
    if told.envvar is not None:
        settings |= {"envvar": told.envvar, "show_envvar": True}
    if told.value is not None:
        settings |= {"is_flag": False, "flag_value": told.value}
    return click.option(told.name or "--" + name.replace("_", "-"), name, is_eager=told.eager, **settings)


def _kind_of(info: FieldInfo) -> dict[str, Any]:
    """What click is to make of the words that are typed."""
    kind = _without_none(info.annotation)
    if kind is bool:
        return {"is_flag": True}
    if get_origin(kind) is Literal:
        return {"type": click.Choice(get_args(kind))}
    if get_origin(kind) is tuple:
        one, *others = get_args(kind)
        several = others == [Ellipsis]
        return {"type": one, "multiple": True} if several else {"type": one, "nargs": 1 + len(others)}
    if kind in (int, float):
        return {"type": _number(kind, info)}
    if kind is Path:
        return {"type": click.Path(path_type=Path)}
    return {"type": str if kind is str else click.UNPROCESSED}


def _number(kind: Any, info: FieldInfo) -> Any:
    bounds: dict[str, Any] = {}
    for one in info.metadata:
        if isinstance(one, Ge):
            bounds["min"] = one.ge
        elif isinstance(one, Le):
            bounds["max"] = one.le
        elif isinstance(one, Gt):
            bounds |= {"min": one.gt, "min_open": True}
        elif isinstance(one, Lt):
            bounds |= {"max": one.lt, "max_open": True}
    if not bounds:
        return kind
    return (click.IntRange if kind is int else click.FloatRange)(**bounds)


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in (Union, UnionType):
        left = [one for one in get_args(kind) if one is not type(None)]
        if len(left) == 1:
            return left[0]
    return kind
