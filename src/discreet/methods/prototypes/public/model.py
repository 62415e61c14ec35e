"""The model that comes of the silos' messages: what the server releases, and what it promises to whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.catalogue import Catalogue
from discreet.errors import ModelInvalid
from discreet.methods.prototypes.public.factorise import Rng, factorise
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.settings import FactorSettings
from discreet.model import Model
from discreet.model.fold_in import NonNegative, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.silo_statements import state_over_silos

__all__ = ["METHOD", "build_item_side", "build_model", "model_of", "wrong_kind"]

METHOD = "prototypes"


def build_model(
    messages: Sequence[PrototypeMessage],
    catalogue: Catalogue,
    settings: FactorSettings | None = None,
    rng: Rng = None,
) -> Model:
    """The model of all silos together.

    Parameters
    ----------
    messages
        One from each silo.
    catalogue
        The items that the prototypes are over.
    settings, rng
        Of :func:`~discreet.methods.prototypes.public.factorise.factorise`.

    Notes
    -----
    **Privacy.** Nothing but messages is read: post-processing. The statement is the worst over the silos.
    """
    chosen = FactorSettings() if settings is None else settings
    side = build_item_side(messages, chosen, rng)
    return model_of(side, messages, catalogue, {"factors": chosen.model_dump(mode="json")})


def build_item_side(
    messages: Sequence[PrototypeMessage], settings: FactorSettings, rng: Rng = None
) -> ItemSide:
    """The arrays in single precision, as they travel: the server keeps what the silos get."""
    side = factorise(messages, settings, rng)
    offsets, factors = (array.astype(np.float32).astype(np.float64) for array in (side.offsets, side.factors))
    return replace(side, offsets=offsets, factors=factors)


def wrong_kind(side: ItemSide, settings: FactorSettings, *, level: bool) -> str | None:
    """Why an item side cannot be what comes of messages, of deviations from the own level or of ratings."""
    rule = Ridge if level else NonNegative
    if not isinstance(side.rule, rule) or (
        side.rank > settings.rank if level else side.rank != settings.rank
    ):
        return "is not of the kind that was agreed on"
    if level:
        return None
    if side.rule != NonNegative(settings.user_penalty, settings.count_exponent):
        return "is not of the kind that was agreed on"
    if side.factors.min() < 0.0 or side.offsets.any() or side.centre != 0.0:
        return "has negative factors, or more than factors"
    return None


def model_of(
    side: ItemSide, messages: Sequence[PrototypeMessage], catalogue: Catalogue, settings: dict[str, Any]
) -> Model:
    """An item side that was made of these messages, with its statement."""
    if any(message.catalogue != catalogue.digest for message in messages):
        raise ModelInvalid("the prototypes are over another catalogue than this one")
    statement = state_over_silos([message.statement for message in messages])
    return Model(side, catalogue, statement, METHOD, settings)
