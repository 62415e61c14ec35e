"""Options that several commands share: files and rows, items, settings, the ledger."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click
from click.core import ParameterSource

from discreet.catalogue import Catalogue, Goal
from discreet.cli.request import Request, option
from discreet.data.ratings import FileReading
from discreet.data.rules import Duplicates, Missing, OutOfRange, UnknownItems
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.methods.public.settings import Settings
from discreet.methods.registry import DEFAULTS
from discreet.model import Model

if TYPE_CHECKING:
    from discreet.privacy.account.ledger_file import LedgerFile

__all__ = [
    "LEDGER_VARIABLE",
    "BadRows",
    "Charged",
    "Chosen",
    "Columns",
    "Features",
    "Items",
    "Rows",
    "Sets",
    "TextFile",
    "WholeRows",
    "method_for",
    "read_features",
    "read_goal",
    "read_settings",
    "refuse_ledger",
]

LEDGER_VARIABLE = "DISCREET_LEDGER"

_REFUSES = " error: one such row refuses the file, which tells that it is there."
_MISSING = "Rows that lack a user, an item or a rating."
_OUTSIDE = "Ratings outside the range; clip: to its nearer end."
_UNKNOWN = "Rows of items that the catalogue lacks."
_ALLOWED = "Refuse a file of which a larger share of the rows would be left out."
# What JSON does not take for a number although it is one: .05, 5., +2.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

# Settings that are not said with --set.
_OWN = {"goal": "--goal", "rank": "--rank", "rounds": "--rounds", "discover_share": "--discover-items"}

Auto: TypeAlias = int | Literal["auto"]


def _separator(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A tab may be written out."""
    return {"tab": "\t", r"\t": "\t"}.get(value or "", value)


class Columns(Request):
    """Which column is what."""

    user: str = option("Column of user ids: the unit of privacy.")
    item: str = option("Column of item ids.")
    rating: str | None = option("Column of ratings; leave it out for implicit feedback.")


class TextFile(Request):
    """How text is written."""

    separator: str | None = option(
        "Between columns of text: ; or tab or ::  [default: found in the first line]",
        metavar="TEXT",
        callback=_separator,
    )
    encoding: str | None = option("Of text: latin-1, cp1252, utf-16.  [default: utf-8]")


class BadRows(Request):
    """What becomes of rows that cannot be used: dropped, each by itself."""

    missing: Missing = option(_MISSING + _REFUSES, "drop")
    out_of_range: OutOfRange = option(_OUTSIDE + _REFUSES, "drop")
    unknown_items: UnknownItems = option(_UNKNOWN + _REFUSES, "drop")
    allow_dropped: float = option(_ALLOWED, 0.2, ge=0.0, le=1.0, metavar="SHARE")
    duplicates: Duplicates = option(
        "Rows that repeat a user and an item: which of them counts.", "last", name="--repeats"
    )


class Rows(Columns, TextFile, BadRows):
    """How the ratings of many users are read."""

    time: str | None = option("Column of times: they say which of repeated rows is the last or the first.")

    def reading(self) -> FileReading:
        """Parameters of `Ratings.from_file`."""
        found: Any = {name: getattr(self, name) for name in Rows.model_fields}
        reading: FileReading = found
        return reading


class WholeRows(Rows):
    """The same where nothing is dropped unless somebody says so; then all may be."""

    missing: Missing = option(_MISSING, "error")
    out_of_range: OutOfRange = option(_OUTSIDE, "error")
    unknown_items: UnknownItems = option(_UNKNOWN, "error")
    allow_dropped: float = option(_ALLOWED, 1.0, ge=0.0, le=1.0, metavar="SHARE")

    def reading_for(self, model: Model) -> dict[str, Any]:
        """The parameters for a model that is there: its catalogue and its rating range say how to read."""
        rating_range = model.item_side.scale.range
        if (self.rating is None) != (rating_range is None):
            raise RatingsInvalid(
                "the model was trained on what people chose, without ratings; leave out --rating"
                if rating_range is None
                else "the model was trained on ratings; name their column with --rating"
            )
        return {**self.reading(), "rating_range": rating_range, "catalogue": model.catalogue}


class Features(Request):
    """What is known of items."""

    features: tuple[str, ...] = option(
        "Columns of the catalogue that describe the items; repeatable. A kind (number, category, tags, "
        "text, people, embedding) is guessed if left out.",
        metavar="COLUMN[:KIND],...",
    )


class Items(Features):
    """The public list of items."""

    catalogue: str | None = option("Public list of items (CSV, Parquet, NDJSON or text).", metavar="FILE")
    catalogue_column: str | None = option(
        "Its column of item ids.  [default: item, item_id or id]", about="catalogue"
    )

    def read_catalogue(self, encoding: str | None = None) -> Catalogue | None:
        """The list with its features, where one was named."""
        features = read_features(self.features, self.catalogue)
        if self.catalogue is None:
            return None
        return Catalogue.from_file(
            self.catalogue, column=self.catalogue_column, features=features, encoding=encoding
        )


def read_features(given: Sequence[str], catalogue: str | None) -> list[str] | None:
    """Columns of ``--features``, each perhaps with a kind after a colon; ``None`` where there are none."""
    named = [part.strip() for text in given for part in text.split(",") if part.strip()]
    if given and not named:
        raise SettingsInvalid("--features names no column; write it like --features genres,title")
    if named and catalogue is None:
        raise SettingsInvalid("--features names columns of --catalogue FILE, which is missing")
    return named or None


class Sets(Request):
    """Any setting of a method."""

    sets: tuple[str, ...] = option(
        "Another setting of the method; repeatable.", name="--set", metavar="KEY=VALUE"
    )


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

    def settings(self) -> dict[str, Any]:
        """What was set by options of its own or by ``--set``; nothing by both."""
        settings = read_settings(self.sets)
        for key, typed in _OWN.items():
            if key in settings:
                raise SettingsInvalid(f"{key} has an option of its own: use {typed} instead of --set")
        own = {"rank": self.rank, "rounds": self.rounds}
        return settings | {key: value for key, value in own.items() if value != "auto"}


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
