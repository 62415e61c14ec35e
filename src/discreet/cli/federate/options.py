"""Options that several ``federate`` commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from discreet.catalogue import Catalogue, ItemFeatures
from discreet.cli.columns import FILE_OPTIONS, column_options, file_options
from discreet.cli.ledger_option import given_ledger, ledger_options
from discreet.cli.row_options import ROW_OPTIONS, row_options
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueInvalid, RatingsInvalid, SettingsInvalid
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.silos.shared.agreements import AnyAgreement
from discreet.silos.shared.base_agreement import BaseAgreement, catalogue_digest
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.seal import SigningKey
from discreet.silos.silo.prototype_silo import PrototypeSilo
from discreet.silos.silo.silo import Silo
from discreet.silos.silo.silo_ledger import begin_run
from discreet.silos.silo.silo_run import AnySilo
from discreet.silos.transport.identity import read_mask_key

__all__ = [
    "agreement_option",
    "catalogue_option",
    "check_member",
    "enter_silo",
    "existing_store",
    "open_silo",
    "optional_catalogue_option",
    "read_agreed_features",
    "read_catalogue",
    "read_silo_ratings",
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

optional_catalogue_option = click.option(
    "--catalogue", metavar="FILE", help="Public list of items; needed where item features were agreed on."
)


def silo_options(function: F) -> F:
    """Add what a silo needs to answer: its ratings, its name, its store and its keys."""
    for option in reversed(_SILO):
        function = option(function)
    return function


def read_catalogue(path: str, agreement: BaseAgreement) -> Catalogue:
    """The catalogue with the agreed features; it must be the agreed one."""
    catalogue = Catalogue.from_file(path, features=agreement.features)
    if catalogue_digest(catalogue) != agreement.catalogue:
        raise CatalogueInvalid(
            f"{path} is not the catalogue that was agreed on: the items or their order differ; "
            "get the file the agreement was made with"
        )
    return catalogue


def read_agreed_features(path: str | None, agreement: BaseAgreement) -> ItemFeatures | None:
    """The agreed features of the items, for who needs nothing else of the catalogue; ``None`` where there are none.

    Parameters
    ----------
    path
        Of the catalogue; needed only where features were agreed on.
    """
    if agreement.features is None:
        return None
    if path is None:
        raise SettingsInvalid(
            "item features were agreed on: name the file that has them with --catalogue FILE"
        )
    return read_catalogue(path, agreement).features


def existing_store(store: str) -> Path:
    """The store of a run that has begun; a mistyped name must not begin another."""
    if not Path(store).is_file():
        raise SettingsInvalid(
            f"there is no store {store}; a run begins with 'discreet federate server', by hand with 'export' "
            "(for prototypes with 'import')"
        )
    return Path(store)


def enter_silo(
    ctx: click.Context, agreement: AnyAgreement, options: dict[str, Any], catalogue: Catalogue
) -> LedgerRun | None:
    """Reserve the agreed budget in the silo's ledger, where there is one: before any rating is read."""
    check_member(agreement, options["name"])
    ledger = given_ledger(options)
    if ledger is None:
        return None
    return ctx.with_resource(begin_run(ledger, agreement, options["name"], catalogue.paid))


def check_member(agreement: AnyAgreement, name: str) -> None:
    """Refuse a name that is not in the agreement."""
    if name not in agreement.roster:
        raise SettingsInvalid(f"{name} is not in the agreement; its silos: {', '.join(agreement.roster)}")


def open_silo(
    agreement: AnyAgreement,
    ratings: Ratings,
    options: dict[str, Any],
    signing: SigningKey,
    journal: LedgerRun | None = None,
) -> AnySilo:
    """A silo from the options of :func:`silo_options`, and for sums from the file of its ``mask_key``."""
    name, store = options["name"], Path(options["store"])
    check_member(agreement, name)
    if isinstance(agreement, PrototypeAgreement):
        return PrototypeSilo(store, agreement, name, ratings, journal=journal)
    key = read_mask_key(Path(options["mask_key"]))
    return Silo(store, agreement, name, key, ratings, journal=journal, signing=signing)


def read_silo_ratings(agreement: BaseAgreement, catalogue: Catalogue, options: dict[str, Any]) -> Ratings:
    """A silo's ratings from the options of :func:`silo_options`."""
    name = options["name"]
    if name not in agreement.roster:
        raise SettingsInvalid(f"{name} is not in the agreement; its silos: {', '.join(agreement.roster)}")
    if agreement.explicit != (options["rating"] is not None):
        raise RatingsInvalid(
            "the agreement is about ratings: name their column with --rating"
            if agreement.explicit
            else "the agreement is about implicit feedback; leave --rating out"
        )
    rules: dict[str, Any] = {name: options.get(name) for name in (*ROW_OPTIONS, *FILE_OPTIONS)}
    return Ratings.from_file(
        options["ratings"],
        user=options["user"],
        item=options["item"],
        rating=options["rating"],
        rating_range=agreement.rating_range,
        catalogue=catalogue,
        **rules,
    )


_SILO: tuple[Callable[[Any], Any], ...] = (
    agreement_option,
    click.option("--name", required=True, help="This silo's name in the agreement."),
    click.option("--ratings", required=True, metavar="RATINGS", help="This silo's ratings: a file."),
    column_options,
    file_options,
    catalogue_option,
    row_options("drop"),
    click.option(
        "--store",
        required=True,
        metavar="FILE",
        help="This silo's account and the answers it gave; keep it, it is what stops a second charge.",
    ),
    ledger_options,
)
