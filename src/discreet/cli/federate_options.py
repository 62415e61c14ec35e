"""Options that several ``federate`` commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from discreet.catalogue import Catalogue
from discreet.cli.columns import column_options
from discreet.cli.settings import apply_config, integer_or_auto, merge_settings
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueInvalid, RatingsInvalid, SettingsInvalid
from discreet.federated.agreement import Agreement, catalogue_digest
from discreet.federated.silo import Silo
from discreet.federated.transport.identity import read_mask_key
from discreet.settings import BudgetedSettings

__all__ = [
    "agreement_option",
    "agreement_options",
    "catalogue_option",
    "mask_key_option",
    "open_silo",
    "read_agreement_settings",
    "read_catalogue",
    "silo_options",
    "store_option",
]

F = TypeVar("F", bound=Callable[..., Any])

agreement_option = click.option("--agreement", required=True, metavar="FILE", help="What was agreed.")
store_option = click.option(
    "--store", required=True, metavar="FILE", help="Where the run is kept; goes on from there after a stop."
)
catalogue_option = click.option(
    "--catalogue", required=True, metavar="FILE", help="Public list of items (CSV, Parquet, NDJSON or text)."
)
mask_key_option = click.option(
    "--mask-key", required=True, metavar="FILE", help="This silo's own, of 'discreet federate key'."
)


def agreement_options(function: F) -> F:
    """Add what an agreement is made of, apart from its silos."""
    for option in reversed(_AGREEMENT):
        function = option(function)
    return function


def silo_options(function: F) -> F:
    """Add what a silo needs to answer: its ratings, its name, its store and its keys."""
    for option in reversed(_SILO):
        function = option(function)
    return function


def read_agreement_settings(ctx: click.Context, options: dict[str, Any]) -> BudgetedSettings:
    """Settings of budgeted ALS from ``--set``, the configuration file, ``--rank`` and ``--rounds``."""
    if options["implicit"] == bool(options["rating_range"]):
        raise SettingsInvalid("say either --rating-range LO HI, for ratings, or --implicit, for none")
    settings = merge_settings(ctx, options["sets"])
    for key in ("rank", "rounds"):
        if key in settings:
            raise SettingsInvalid(f"{key} has an option of its own: use --{key} instead of --set")
        settings[key] = options[key]
    return BudgetedSettings.checked(**settings)


def read_catalogue(path: str, agreement: Agreement) -> Catalogue:
    """The catalogue, which must be the agreed one."""
    catalogue = Catalogue.from_file(path)
    if catalogue_digest(catalogue) != agreement.catalogue:
        raise CatalogueInvalid(
            f"{path} is not the catalogue that was agreed on: the items or their order differ; "
            "get the file the agreement was made with"
        )
    return catalogue


def open_silo(agreement: Agreement, options: dict[str, Any]) -> Silo:
    """A silo from the options of :func:`silo_options` and the file of its ``mask_key``."""
    if options["name"] not in agreement.silos:
        raise SettingsInvalid(
            f"{options['name']} is not in the agreement; its silos: {', '.join(agreement.roster)}"
        )
    key = read_mask_key(Path(options["mask_key"]))
    catalogue = read_catalogue(options["catalogue"], agreement)
    return Silo(
        Path(options["store"]), agreement, options["name"], key, _read_ratings(agreement, catalogue, options)
    )


def _read_ratings(agreement: Agreement, catalogue: Catalogue, options: dict[str, Any]) -> Ratings:
    if agreement.explicit != (options["rating"] is not None):
        raise RatingsInvalid(
            "the agreement is about ratings: name their column with --rating"
            if agreement.explicit
            else "the agreement is about implicit feedback; leave --rating out"
        )
    return Ratings.from_file(
        options["ratings"],
        user=options["user"],
        item=options["item"],
        rating=options["rating"],
        rating_range=agreement.rating_range,
        catalogue=catalogue,
        unknown_items=options["unknown_items"],
    )


_AGREEMENT: tuple[Callable[[Any], Any], ...] = (
    click.option("--epsilon", required=True, help="Privacy parameter epsilon, for every silo's users."),
    click.option("--delta", required=True, help="Privacy parameter delta; well below 1 / users."),
    catalogue_option,
    click.option(
        "--rating-range", nargs=2, type=float, metavar="LO HI", help="Lowest and highest possible rating."
    ),
    click.option(
        "--implicit", is_flag=True, help="There are no ratings: a row means that the user chose the item."
    ),
    click.option(
        "--honest",
        type=click.IntRange(1),
        help="How many silos at least add their noise as agreed; more than half if left out.",
    ),
    click.option(
        "--noise",
        type=click.Choice(["shares", "server"]),
        default="shares",
        show_default=True,
        help="Who adds the noise: every silo a share, or a server trusted with exact totals.",
    ),
    click.option(
        "--rank",
        callback=integer_or_auto(0),
        default="auto",
        show_default=True,
        help="Number of factors; 0: offsets alone; auto: by a public rule.",
    ),
    click.option(
        "--rounds",
        callback=integer_or_auto(1),
        default="auto",
        show_default=True,
        help="Rounds of training; auto: by a public rule.",
    ),
    click.option(
        "--set",
        "sets",
        multiple=True,
        metavar="KEY=VALUE",
        help="Another setting of budgeted ALS; repeatable.",
    ),
    click.option(
        "--config",
        is_eager=True,
        expose_value=False,
        callback=apply_config,
        metavar="FILE",
        help="TOML or JSON with any of these options, and a table 'settings' for --set.",
    ),
    click.option(
        "--seed", type=click.IntRange(0), help="Of the random start of the factors; never of the noise."
    ),
)

_SILO: tuple[Callable[[Any], Any], ...] = (
    agreement_option,
    click.option("--name", required=True, help="This silo's name in the agreement."),
    click.option(
        "--ratings", required=True, metavar="RATINGS", help="This silo's ratings: a file or a query."
    ),
    column_options,
    catalogue_option,
    click.option(
        "--unknown-items",
        type=click.Choice(["error", "drop"]),
        default="error",
        show_default=True,
        help="Ratings of items that the catalogue lacks.",
    ),
    click.option(
        "--store",
        required=True,
        metavar="FILE",
        help="This silo's account and the answers it gave; keep it, it is what stops a second charge.",
    ),
)
