"""Settings of a method: ``--goal``, ``--rank``, ``--rounds``, ``--set key=value``, and a configuration file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import click
from pydantic import Field, TypeAdapter, ValidationError

from discreet.cli.request import Request, adds, option
from discreet.errors import SettingsInvalid
from discreet.methods.registry import DEFAULTS
from discreet.methods.settings import Settings

__all__ = ["Auto", "Chosen", "Goal", "Sets", "merge_settings", "method_for", "read_goal", "set_option"]

Auto: TypeAlias = int | Literal["auto"]
Goal: TypeAlias = Literal["rank", "rate"]

_CONFIGURED = "discreet.settings"
# Not for a file: what it would be circular or dangerous to leave lying there.
_ONLY_TYPED = {"config", "set", "json", "force", "resume"}
# What JSON does not take for a number although it is one: .05, 5., +2.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# A whole number beyond 1e308 is none that arithmetic knows.
_Number = Annotated[float, Field(ge=-1e308, le=1e308)]
_ONE: TypeAdapter[Any] = TypeAdapter(str | bool | _Number)
_SEVERAL: TypeAdapter[Any] = TypeAdapter(list[str | bool | _Number])


def _apply_config(ctx: click.Context, param: click.Parameter, path: str | None) -> None:
    """Make a TOML or JSON file the default of every option, and its table ``settings`` that of ``--set``."""
    if path is None:
        return
    content = {key.replace("_", "-"): value for key, value in _read_table(Path(path)).items()}
    settings = content.pop("settings", {})
    if not isinstance(settings, dict):
        raise SettingsInvalid(f"{path}: settings must be a table of settings, not {settings!r}")
    ctx.meta[_CONFIGURED] = settings
    options = {
        one.opts[0].removeprefix("--"): one for one in ctx.command.params if isinstance(one, click.Option)
    }
    known = {name: one for name, one in options.items() if name not in _ONLY_TYPED}
    unknown = sorted(set(content) - set(known))
    if unknown:
        listed = ", ".join(sorted({*known, "settings"}))
        raise SettingsInvalid(f"{path}: unknown {', '.join(unknown)}; known are {listed}")
    ctx.default_map = {}
    for key, value in content.items():
        one = known[key]
        try:
            if isinstance(value, list) and (one.multiple or one.nargs != 1):
                _SEVERAL.validate_python(value)
            else:
                _ONE.validate_python(value)
        except ValidationError:
            wanted = "a text, a number, true or false"
            raise SettingsInvalid(f"{path}: {key} must be {wanted}, not {repr(value)[:100]}") from None
        # A single text for an option that may be repeated is one value, not a list of letters.
        ctx.default_map[one.name] = [value] if one.multiple and isinstance(value, str) else value


def _read_table(path: Path) -> dict[str, Any]:
    kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if kind == "JSON" else tomllib.loads(text)
    except FileNotFoundError:
        raise SettingsInvalid(f"there is no configuration file {path}") from None
    except (ValueError, RecursionError) as error:
        raise SettingsInvalid(f"{path} is not valid {kind}: {error}") from None
    if not isinstance(content, dict):
        raise SettingsInvalid(f"{path} must hold a table of options")
    return content


def _integer_or_auto(low: int) -> Callable[[click.Context, click.Parameter, Any], Auto]:
    def read(ctx: click.Context, param: click.Parameter, value: Any) -> Auto:
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


class Sets(Request):
    """Any setting of a method."""

    sets: tuple[str, ...] = option(
        "Another setting of the method; repeatable.", name="--set", metavar="KEY=VALUE"
    )


set_option = adds(Sets)


class Chosen(Sets):
    """What a model is for, and how it is trained."""

    goal: Goal | None = option(
        "What the model is for: lists (rank) or predicted ratings (rate).  [default: rank, or what --method does]"
    )
    rank: Auto = option(
        "Number of factors; 0: offsets alone; auto: the method's own choice.",
        "auto",
        callback=_integer_or_auto(0),
    )
    rounds: Auto = option(
        "Rounds of training; auto: the method's own choice.", "auto", callback=_integer_or_auto(1)
    )
    config: str | None = option(
        "TOML or JSON with any of these options, and a table 'settings' for --set.",
        metavar="FILE",
        callback=_apply_config,
        is_eager=True,
    )


def merge_settings(ctx: click.Context, pairs: Sequence[str]) -> dict[str, Any]:
    """Settings of the file, overridden by ``key=value`` pairs."""
    settings: dict[str, Any] = dict(ctx.meta.get(_CONFIGURED, {}))
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise SettingsInvalid(f"--set takes key=value, not {pair!r}")
        settings[key.strip().replace("-", "_")] = _value(text.strip())
    return settings


def _value(text: str) -> Any:
    """A number, true, false or a list as in JSON, or a number as people write it (.05); anything else is a text."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return float(text) if _NUMBER.fullmatch(text) else text


def method_for(method: str | None, goal: str | None) -> str:
    """The method by its name, or the one that is trained for this goal."""
    return method or DEFAULTS["rate" if goal == "rate" else "rank"]


def read_goal(
    goal: str | None, method: str, settings: type[Settings], *, rated: bool, makes_lists: bool = False
) -> dict[str, str]:
    """The setting ``goal`` of a method that has one; what a person asked for and cannot have is refused.

    Parameters
    ----------
    goal
        As typed; ``None`` where it was left out.
    method, settings
        Its name and the type of its settings.
    rated
        Whether there are ratings.
    makes_lists
        Whether the method makes lists, and predicts no ratings, also where there are some.
    """
    if goal == "rate" and (makes_lists or not rated):
        why = f"--method {method} predicts none" if rated else "there are none without --rating and its range"
        raise SettingsInvalid(f"--goal rate is about predicting ratings, and {why}; leave it out")
    if "goal" in settings.model_fields:
        return {"goal": goal or "rank"}
    if goal == "rank" and rated and not makes_lists:
        raise SettingsInvalid(
            f"--method {method} predicts ratings and makes no lists; leave --goal or --method out"
        )
    return {}
