"""Commands from typed requests: a field is an option, its type says what may be given, its default what is meant.

    class Sample(Request):
        out: Path = option("Folder to put the files into.", metavar="DIR")
        users: int = option("How many people rate.", 6_000, ge=100)

    @takes(Sample, "sample")
    def command(request: Sample) -> None: ...

gives ``--out DIR``, which is required, and ``--users``. A request may inherit the options of others. What the function
returns is the command's answer, which :mod:`discreet.cli.output` prints; a docstring is help.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import click
from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from discreet.cli.group import COMMANDS
from discreet.errors import SettingsInvalid

__all__ = ["Request", "adds", "argument", "group", "option", "takes"]

_BOUNDS = {"ge": "min", "gt": "min_open", "le": "max", "lt": "max_open"}
R = TypeVar("R", bound="Request")
F = TypeVar("F", bound=Callable[..., Any])


class Request(BaseModel):
    """What a command was asked for. Its fields are the command's options."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    def tell(self, answer: Any) -> None:
        """Print an answer."""
        raise NotImplementedError


def argument(metavar: str, **settings: Any) -> Any:
    """A word without a name; ``metavar`` is what help calls it."""
    return Field(None, json_schema_extra={"metavar": metavar, **settings})


def option(words: str, default: Any = None, *, name: str | None = None, **settings: Any) -> Any:
    """An option; ``name``: as it is typed, if not as the field is called; ``about``: the field it goes with.

    Without a default it is required, unless its type has ``None`` in it, or is a flag or repeatable. Bounds are
    called as in pydantic (``ge``, ``gt``, ``le``, ``lt``), all other settings as in click.
    """
    return Field(default, description=words, json_schema_extra={"name": name, **settings})


def takes(
    kind: type[R], name: str, cls: type[click.Command] | None = None, inside: click.Group | None = None
) -> Callable[[Callable[[R], Any]], click.Command]:
    """Make a command of this name (of a group) of a function that takes a request of this kind."""

    def decorate(function: Callable[[R], Any]) -> click.Command:
        @functools.wraps(function)
        def called(**given: Any) -> Any:
            request = kind(**given)
            _check_company(request)
            answer = function(request)
            if answer is not None:
                request.tell(answer)

        make = click.command if inside is None else inside.command
        words = _described(name, function) if inside is None else None
        return make(name, cls=cls or click.Command, help=words)(adds(kind)(called))

    return decorate


def group(name: str, cls: type[click.Group] | None = None) -> Callable[[Callable[[], None]], click.Group]:
    """Make one of the first commands a group of others; its docstring is help."""

    def decorate(function: Callable[[], None]) -> click.Group:
        return click.group(name, cls=cls or _InOrder, help=_described(name, function))(function)

    return decorate


class _InOrder(click.Group):
    """Lists its commands in the order they are worth reading."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _described(name: str, function: Callable[..., Any]) -> str:
    """What the list of commands says of one, and the docstring."""
    return "\n\n".join(filter(None, (COMMANDS[name], inspect.getdoc(function))))


def _check_company(request: Request) -> None:
    """Refuse an option that says something about another one, which is not there."""
    for name, info in type(request).model_fields.items():
        other = _told(info).get("about")
        if other is not None and getattr(request, name) and not getattr(request, other):
            alone, missing = (_typed(one, type(request).model_fields[one]) for one in (name, other))
            raise SettingsInvalid(f"{alone} says something about {missing}, which is missing")


def _told(info: FieldInfo) -> dict[str, Any]:
    assert isinstance(info.json_schema_extra, dict)
    return info.json_schema_extra


def _typed(name: str, info: FieldInfo) -> str:
    return _told(info)["name"] or "--" + name.replace("_", "-")


def adds(kind: type[Request]) -> Callable[[F], F]:
    """Add a request's options to a function that takes each of them by itself."""

    def decorate(function: F) -> F:
        for name in reversed(_in_order(kind)):
            function = _parameter(name, kind.model_fields[name])(function)
        return function

    return decorate


def _in_order(kind: type[Request]) -> list[str]:
    """Words without a name first, then what is required, then a request's own options, then those it inherits."""
    fields = kind.model_fields
    words = [name for name, info in fields.items() if info.description is None]
    own_first = dict.fromkeys(name for one in kind.__mro__ for name in vars(one).get("__annotations__", ()))
    named = [name for name in own_first if name in fields and name not in words]
    return words + sorted(named, key=lambda name: not _kind_of(fields[name])[1])


def _parameter(name: str, info: FieldInfo) -> Callable[[F], F]:
    kind, required = _kind_of(info)
    extra = {key: value for key, value in _told(info).items() if key not in ("about", "name")}
    told: dict[str, Any] = {**kind, **extra, "required": required}
    if bounds := {bound: told.pop(key) for key, bound in _BOUNDS.items() if key in told}:
        edges = {key.partition("_")[0]: value for key, value in bounds.items()}
        opened = {key: True for key in bounds if key.endswith("_open")}
        told["type"] = (click.IntRange if told["type"] is int else click.FloatRange)(**edges, **opened)
    if info.default is not None:
        told["default"] = info.default
    if info.description is None:
        if told.pop("multiple", False):
            told |= {"nargs": -1, "required": True}
        return click.argument(name, **told)
    told |= {"show_default": info.default is not None, "show_envvar": "envvar" in told}
    return click.option(_typed(name, info), name, help=info.description, **told)


def _kind_of(info: FieldInfo) -> tuple[dict[str, Any], bool]:
    """What click is to make of the words that are typed, and whether there must be some."""
    kind, required = info.annotation, info.default is None
    if get_origin(kind) in (Union, UnionType) and type(None) in get_args(kind):
        left, required = set(get_args(kind)) - {type(None)}, False
        kind = left.pop() if len(left) == 1 else kind
    if kind is bool:
        return {"is_flag": True}, False
    if get_origin(kind) is Literal:
        return {"type": click.Choice(get_args(kind))}, required
    if get_origin(kind) is tuple:
        one, *others = get_args(kind)
        if others == [...]:
            return {"type": one, "multiple": True}, False
        return {"type": one, "nargs": 1 + len(others)}, required
    if kind in (int, float):
        return {"type": kind}, required
    if kind is Path:
        return {"type": click.Path(path_type=Path)}, required
    return {"type": str if kind is str else click.UNPROCESSED}, required
