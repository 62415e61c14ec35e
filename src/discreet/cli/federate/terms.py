"""What an agreement is made of, as options, and the agreement that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import click
from click.core import ParameterSource

from discreet.catalogue import Catalogue
from discreet.cli.federate.options import catalogue_option
from discreet.cli.request import adds
from discreet.cli.rows import Features, read_features
from discreet.cli.settings import Chosen, merge_settings, method_for, read_goal
from discreet.errors import SettingsInvalid
from discreet.methods.lookup import allow
from discreet.methods.prototypes.settings import PRESETS, FactorSettings, PrototypeSettings
from discreet.methods.public_half import check_features
from discreet.methods.public_halves import PUBLIC_HALVES, find_public_half
from discreet.privacy.budget import Budget
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import AnyAgreement
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.transport.public_keys import PublicKeys

__all__ = ["agreement_options", "make_agreement"]

F = TypeVar("F", bound=Callable[..., Any])

_FACTORS = "factors."


def agreement_options(function: F) -> F:
    """Add what an agreement is made of, apart from its silos."""
    for option in reversed(_AGREEMENT):
        function = option(function)
    return function


def make_agreement(ctx: click.Context, name: str, keys: PublicKeys, options: dict[str, Any]) -> AnyAgreement:
    """An agreement from the options of :func:`agreement_options`; only sums need the silos' mask keys."""
    if options["implicit"] == bool(options["rating_range"]):
        raise SettingsInvalid("say either --rating-range LO HI, for ratings, or --implicit, for none")
    settings = merge_settings(ctx, options["sets"])
    method = method_for(options["method"], options["goal"])
    if method == "prototypes":
        return _prototypes(ctx, name, keys, options, settings)
    if options["delta"] is None:
        raise SettingsInvalid(f"{method} needs --delta, well below 1 / users")
    if options["prototypes"] is not None:
        raise SettingsInvalid("--prototypes goes with --method prototypes")
    if options["preset"] is not None:
        raise SettingsInvalid("--preset goes with --method prototypes: it is its paper's variant")
    noise: Literal["shares", "server"] = options["noise"]
    # Whoever types the name of a class asks for it to be loaded.
    allow(method)
    half = find_public_half(method)
    half.check_features(bool(options["features"]))
    for key in ("rank", "rounds"):
        if options[key] != "auto":
            _set(settings, key, options[key], f"--{key}")
    rated = bool(options["rating_range"])
    chosen = read_goal(
        options["goal"], half.name, half.settings_type, rated=rated, makes_lists=half.makes_lists
    )
    for key, value in chosen.items():
        _set(settings, key, value, f"--{key}")
    if sorted(keys.masks) != sorted(keys.signing):
        raise SettingsInvalid(f"{method} needs a mask key of every silo; 'discreet federate key' makes it")
    return Agreement.make(
        name,
        silos=keys.masks,
        signing_keys=keys.signing,
        server_key=keys.server,
        budget=Budget.parse(options["epsilon"], options["delta"]),
        catalogue=_catalogue(options),
        rating_range=options["rating_range"] or None,
        method=method,
        settings=half.settings_type.checked(**settings),
        honest=options["honest"],
        noise=noise,
        spare=options["spare"],
        seed=options["seed"],
    )


def _prototypes(
    ctx: click.Context,
    name: str,
    keys: PublicKeys,
    options: dict[str, Any],
    settings: dict[str, Any],
) -> PrototypeAgreement:
    read_goal(options["goal"], "prototypes", PrototypeSettings, rated=bool(options["rating_range"]))
    check_features("prototypes", used=False, given=bool(options["features"]))
    for key in ("honest", "noise", "spare", "rounds"):
        if ctx.get_parameter_source(key) not in (ParameterSource.DEFAULT, None):
            raise SettingsInvalid(f"--{key} is for methods that sum; prototypes have no use for it")
    factors = {
        key.removeprefix(_FACTORS): settings.pop(key) for key in list(settings) if key.startswith(_FACTORS)
    }
    if options["prototypes"] is not None:
        _set(settings, "prototypes", options["prototypes"], "--prototypes")
    if options["rank"] != "auto":
        _set(factors, "rank", options["rank"], "--rank")
    if options["delta"] is not None:
        if options["preset"] is not None or settings.get("clustering") == "swap":
            raise SettingsInvalid("the paper's prototypes (clustering=swap) have no delta; leave --delta out")
        _set(settings, "delta", _number("delta", options["delta"]), "--delta")
    preset = options["preset"]
    return PrototypeAgreement.make(
        name,
        silos=keys.signing,
        signing_keys=keys.signing,
        server_key=keys.server,
        epsilon=_number("epsilon", options["epsilon"]),
        catalogue=_catalogue(options),
        rating_range=options["rating_range"] or None,
        settings=PrototypeSettings.checked(**settings)
        if preset is None
        else PrototypeSettings.from_preset(preset, **settings),
        factors=FactorSettings.checked(**factors),
        seed=options["seed"],
    )


def _catalogue(options: dict[str, Any]) -> Catalogue:
    path = options["catalogue"]
    return Catalogue.from_file(path, features=read_features(options["features"], path))


def _set(settings: dict[str, Any], key: str, value: object, option: str) -> None:
    if key in settings:
        raise SettingsInvalid(f"{key} has an option of its own: use {option} instead of --set")
    settings[key] = value


def _number(name: str, text: object) -> float:
    try:
        return float(str(text))
    except ValueError:
        raise SettingsInvalid(f"{name} must be a number, not {text!r}") from None


_AGREEMENT: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--method",
        metavar="NAME|PACKAGE:CLASS",
        help=f"Summed round by round: {', '.join(PUBLIC_HALVES)}, or another package's class. prototypes: one "
        f"message from each silo and one back.  [default: {method_for(None, 'rank')}, or {method_for(None, 'rate')} "
        "for --goal rate]",
    ),
    click.option("--epsilon", required=True, help="Privacy parameter epsilon, for every silo's users."),
    click.option(
        "--delta",
        help="Privacy parameter delta; well below 1 / users. Prototypes: 1e-6 where left out, none with --preset.",
    ),
    catalogue_option,
    adds(Features),
    click.option(
        "--rating-range", nargs=2, type=float, metavar="LO HI", help="Lowest and highest possible rating."
    ),
    click.option(
        "--implicit", is_flag=True, help="There are no ratings: a row means that the user chose the item."
    ),
    click.option(
        "--honest",
        type=click.IntRange(1),
        help="How many silos at least add their noise as agreed; more than half if left out. Not for prototypes.",
    ),
    click.option(
        "--noise",
        type=click.Choice(["shares", "server"]),
        default="shares",
        show_default=True,
        help="Who adds the noise: every silo a share, or a server trusted with exact totals. Not for prototypes.",
    ),
    click.option(
        "--spare",
        type=click.FloatRange(0.0, 0.5),
        default=0.0,
        show_default=True,
        help="Share of the budget held back to repeat a sum that a silo was lost in. Not for prototypes.",
    ),
    click.option("--prototypes", type=click.IntRange(1), help="How many of them a silo sends at most."),
    click.option(
        "--preset",
        type=click.Choice(PRESETS),
        help="With --method prototypes: the paper's clustering, without delta, as published or with working constants.",
    ),
    adds(Chosen),
    click.option(
        "--seed", type=click.IntRange(0), help="Of the random start of the factors; never of the noise."
    ),
)
