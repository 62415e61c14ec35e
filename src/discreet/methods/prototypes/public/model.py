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
from discreet.model.item_side import ItemSide
from discreet.privacy.silo_statements import state_over_silos

__all__ = ["METHOD", "build_item_side", "build_model", "model_of"]

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
    """The factors in single precision, as they travel: the server keeps what the silos get."""
    side = factorise(messages, settings, rng)
    return replace(side, factors=side.factors.astype(np.float32).astype(np.float64))


def model_of(
    side: ItemSide, messages: Sequence[PrototypeMessage], catalogue: Catalogue, settings: dict[str, Any]
) -> Model:
    """An item side that was made of these messages, with its statement."""
    if any(message.catalogue != catalogue.digest for message in messages):
        raise ModelInvalid("the prototypes are over another catalogue than this one")
    statement = state_over_silos([message.statement for message in messages])
    return Model(side, catalogue, statement, METHOD, settings)
