"""Settings of a method, from ``--set key=value`` and from a configuration file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from discreet.errors import SettingsInvalid

__all__ = [
    "apply_config",
    "auto_option",
    "config_option",
    "integer_or_auto",
    "merge_settings",
    "rating_range_option",
    "set_option",
]

Option: TypeAlias = Callable[[Any], Any]

_CONFIGURED = "discreet.settings"
_TABLE = "settings"
# A whole number beyond this is none that arithmetic knows.
_LARGEST = 1e308
# Not for a file: what it would be circular or dangerous to leave lying there.
_ONLY_TYPED = {"config", "set", "json", "force", "resume"}
# What JSON does not take for a number although it is one: .05, 5., +2.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def apply_config(ctx: click.Context, param: click.Parameter, path: str | None) -> None:
    """Make a TOML or JSON file the default of every option, and its table ``settings`` that of ``--set``.

    The command line wins over the file.
    """
    if path is None:
        return
    content = _read_table(Path(path))
    names = _option_names(ctx.command)
    options = {param.name: param for param in ctx.command.params if isinstance(param, click.Option)}
    given = {key.replace("_", "-"): value for key, value in content.items()}
    _refuse_unknown(given, {*names, _TABLE}, path)
    settings = given.pop(_TABLE, {})
    if not isinstance(settings, dict):
        raise SettingsInvalid(f"{path}: {_TABLE} must be a table of settings, not {settings!r}")
    ctx.meta[_CONFIGURED] = settings
    for key, value in given.items():
        _refuse_other_shapes(options[names[key]], key, value, path)
    # A single text for an option that may be repeated is one value, not a list of letters.
    ctx.default_map = {
        names[key]: [value] if options[names[key]].multiple and isinstance(value, str) else value
        for key, value in given.items()
    }


def integer_or_auto(low: int) -> Callable[[click.Context, click.Parameter, Any], int | str]:
    """Read an option as a whole number of at least ``low``, or ``auto``: the method's public rule chooses."""

    def read(ctx: click.Context, param: click.Parameter, value: Any) -> int | str:
        if value == "auto":
            return "auto"
        try:
            number = int(str(value))
        except ValueError:
            raise click.BadParameter(f"{value!r} is neither a whole number nor 'auto'") from None
        if number < low:
            raise click.BadParameter(f"{number} is below {low}")
        return number

    return read


rating_range_option = click.option(
    "--rating-range", nargs=2, type=float, metavar="LO HI", help="Lowest and highest possible rating."
)
config_option = click.option(
    "--config",
    is_eager=True,
    expose_value=False,
    callback=apply_config,
    metavar="FILE",
    help="TOML or JSON with any of these options, and a table 'settings' for --set.",
)


def auto_option(name: str, low: int, words: str) -> Option:
    """An option that takes a whole number of at least ``low`` or, if left out, is for a rule to choose."""
    return click.option(name, callback=integer_or_auto(low), default="auto", show_default=True, help=words)


def set_option(words: str) -> Option:
    """``--set KEY=VALUE``, for :func:`merge_settings`."""
    return click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help=words)


def merge_settings(ctx: click.Context, pairs: Sequence[str]) -> dict[str, Any]:
    """Settings of the file, overridden by ``key=value`` pairs."""
    settings: dict[str, Any] = dict(ctx.meta.get(_CONFIGURED, {}))
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise SettingsInvalid(f"--set takes key=value, not {pair!r}")
        settings[key.strip().replace("-", "_")] = _value(text.strip())
    return settings


def _option_names(command: click.Command) -> dict[str, str]:
    """What a file may set: options by the name a person types, and the name the command knows them by."""
    options = [param for param in command.params if isinstance(param, click.Option)]
    names = {option.opts[0].removeprefix("--"): option.name for option in options if option.name is not None}
    return {typed: name for typed, name in names.items() if typed not in _ONLY_TYPED}


def _refuse_unknown(given: Mapping[str, object], known: set[str], where: str) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise SettingsInvalid(f"{where}: unknown {', '.join(unknown)}; known are {', '.join(sorted(known))}")


def _refuse_other_shapes(option: click.Option, key: str, value: object, where: str) -> None:
    """An option is a text, a number, true or false, or a list of these where it takes several."""
    several = isinstance(value, list) and (option.multiple or option.nargs != 1)
    for one in value if several and isinstance(value, list) else [value]:
        if not isinstance(one, str) and not (isinstance(one, int | float) and abs(one) <= _LARGEST):
            wanted = "a text, a number, true or false"
            raise SettingsInvalid(f"{where}: {key} must be {wanted}, not {repr(one)[:100]}")


def _read_table(path: Path) -> dict[str, Any]:
    """The table in a TOML or JSON file."""
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise SettingsInvalid(f"there is no configuration file {path}") from None
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise SettingsInvalid(f"{path} is not valid {kind}: {error}") from None
    if not isinstance(content, dict):
        raise SettingsInvalid(f"{path} must hold a table of options")
    return content


def _value(text: str) -> Any:
    """A number, true, false or a list as in JSON, or a number as people write it (.05); anything else is a text."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return float(text) if _NUMBER.fullmatch(text) else text
