"""Settings of a method (``--goal``, ``--rank``, ``--rounds``, ``--set``), and the ledger of whoever spends a budget."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click
from click.core import ParameterSource

from discreet.cli.request import Request, option
from discreet.errors import SettingsInvalid
from discreet.methods.registry import DEFAULTS
from discreet.methods.settings import Settings

if TYPE_CHECKING:
    from discreet.privacy.account.ledger_file import LedgerFile

__all__ = [
    "LEDGER_VARIABLE",
    "Charged",
    "Chosen",
    "Sets",
    "method_for",
    "read_goal",
    "read_settings",
    "refuse_ledger",
]

LEDGER_VARIABLE = "DISCREET_LEDGER"

Auto: TypeAlias = int | Literal["auto"]
Goal: TypeAlias = Literal["rank", "rate"]

# What JSON does not take for a number although it is one: .05, 5., +2.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


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


class Charged(Request):
    """Where the cost of all runs on these people's ratings is kept."""

    ledger: str | None = option(
        "Keep what all runs on these people's ratings cost in FILE, and refuse this one if a cap has no room.",
        metavar="FILE",
        envvar=LEDGER_VARIABLE,
    )
    ledger_group: str | None = option(
        "For ratings of some people alone: you declare that nobody is in two groups of the ledger.",
        about="ledger",
    )

    def given_ledger(self) -> LedgerFile | None:
        """The ledger that was named, here or by the environment; says so where it begins with this run."""
        if not self.ledger:
            return None
        from discreet.privacy.account.ledger_file import LedgerFile

        if not Path(self.ledger).exists():
            click.echo(
                f"Began the ledger {self.ledger}: it knows of no earlier run on these ratings.", err=True
            )
        return LedgerFile(self.ledger, group=self.ledger_group)


def refuse_ledger(ctx: click.Context, why: str) -> None:
    """Refuse a ledger that was asked for where nothing can be charged; one that the environment names is left alone."""
    for name in ("ledger", "ledger_group"):
        typed = ctx.get_parameter_source(name) not in (ParameterSource.DEFAULT, ParameterSource.ENVIRONMENT)
        if typed and ctx.params.get(name):
            raise SettingsInvalid(f"{why} has no use for --{name.replace('_', '-')}; leave it out")


def read_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Settings from ``key=value`` pairs."""
    settings: dict[str, Any] = {}
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

    ``makes_lists``: whether the method makes lists, and predicts no ratings, also where there are some (``rated``).
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
