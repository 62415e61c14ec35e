"""What the server makes of the silos' messages: non-negative factors (or evidence put together), and a model.

Paper 003, algorithm 2 and equation 2: the prototypes of all silos are stacked and factorised; each silo finds its
users' vectors alone. Missing entries are missing, not zero. The references run the factorisation on ratings, which is
not private; on messages it is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.catalogue import Catalogue, RatingScale
from discreet.errors import ModelInvalid
from discreet.kernels.nonnegative import solve_nonnegative
from discreet.methods.prototypes.public.evidence import level_side
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.settings import FactorSettings
from discreet.model import Model
from discreet.model.fold_in import NonNegative, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.statement import state_over_silos
from discreet.types import Bools, Floats

__all__ = [
    "METHOD",
    "Entries",
    "build_item_side",
    "build_model",
    "factorise",
    "item_side_of",
    "model_of",
    "nonnegative_factors",
    "wrong_kind",
]

METHOD = "prototypes"
Rng: TypeAlias = int | np.random.Generator | None


@dataclass(frozen=True)
class Entries:
    """Rows to factorise, compressed: what is not listed is missing, not zero."""

    indptr: npt.NDArray[Any]
    items: npt.NDArray[Any]
    values: Floats
    n_items: int

    @classmethod
    def of_dense(cls, values: Floats, mask: Bools) -> Entries:
        """From arrays of rows x items."""
        indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        return cls(indptr, np.nonzero(mask)[1], values[mask], values.shape[1])


def build_model(
    messages: Sequence[PrototypeMessage],
    catalogue: Catalogue,
    settings: FactorSettings | None = None,
    rng: Rng = None,
) -> Model:
    """The model of all silos together; ``rng`` of the start of the factors.

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
    """The arrays in single precision: the server keeps what the silos get."""
    side = factorise(messages, settings, rng)
    offsets, factors = (array.astype(np.float32).astype(np.float64) for array in (side.offsets, side.factors))
    return replace(side, offsets=offsets, factors=factors)


def model_of(
    side: ItemSide, messages: Sequence[PrototypeMessage], catalogue: Catalogue, settings: dict[str, Any]
) -> Model:
    """An item side that was made of these messages, with its statement."""
    if any(message.catalogue != catalogue.digest for message in messages):
        raise ModelInvalid("the prototypes are over another catalogue than this one")
    statement = state_over_silos([message.statement for message in messages])
    return Model(side, catalogue, statement, METHOD, settings)


def wrong_kind(side: ItemSide, settings: FactorSettings, *, level: bool) -> str | None:
    """Why an item side cannot be what comes of messages, of deviations from the own level or of ratings."""
    if level:
        fits = isinstance(side.rule, Ridge) and side.rank <= settings.rank
        return None if fits else "is not of the kind that was agreed on"
    if side.rule != NonNegative(settings.user_penalty, settings.count_exponent) or side.rank != settings.rank:
        return "is not of the kind that was agreed on"
    if side.factors.min() < 0.0 or side.offsets.any() or side.centre != 0.0:
        return "has negative factors, or more than factors"
    return None


def factorise(
    messages: Sequence[PrototypeMessage], settings: FactorSettings | None = None, rng: Rng = None
) -> ItemSide:
    """The server's side: stack all prototypes and factorise them; evidence of deviations is put together instead."""
    if not messages:
        raise ModelInvalid("there is no message to factorise; at least one silo must take part")
    first, chosen = messages[0], FactorSettings() if settings is None else settings
    if any((message.catalogue, message.scale) != (first.catalogue, first.scale) for message in messages):
        raise ModelInvalid("silos sent prototypes over different catalogues or scales; agree on one first")
    evidence = [message.evidence for message in messages if message.evidence is not None]
    if evidence and len(evidence) < len(messages):
        raise ModelInvalid("some silos sent prototypes of ratings and some of deviations; agree on one first")
    if evidence:
        return level_side(evidence, first.scale, chosen.rank)
    entries = Entries.of_dense(
        np.concatenate([message.values for message in messages]),
        np.concatenate([message.mask for message in messages]),
    )
    return item_side_of(nonnegative_factors(entries, chosen, rng), first.scale, chosen)


def item_side_of(factors: Floats, scale: RatingScale, settings: FactorSettings) -> ItemSide:
    """Non-negative factors as an item side: a rating is u . v, so there is neither a centre nor an offset."""
    rule = NonNegative(settings.user_penalty, settings.count_exponent)
    return ItemSide(scale, 0.0, np.zeros(len(factors)), factors, rule)


def nonnegative_factors(entries: Entries, settings: FactorSettings, rng: Rng = None) -> Floats:
    """Item factors V >= 0 of sum (x_ij - u_i . v_j)^2 + lambda (|U|^2 + |V|^2) over the entries (equation 2)."""
    by_item, users, order = kernels.transpose(entries.indptr, entries.items, entries.n_items)
    turned = entries.values[order]
    row_penalty, item_penalty = (_penalties(indptr, settings) for indptr in (entries.indptr, by_item))
    # A start at the size of the values: random positive vectors whose products are about their mean.
    size = np.sqrt(max(float(entries.values.mean()) if len(entries.values) else 0.0, 1e-6) / settings.rank)
    factors: Floats = np.random.default_rng(rng).uniform(0.5, 1.5, (entries.n_items, settings.rank)) * size
    sides = None
    for _ in range(settings.rounds):
        rows = entries.indptr, entries.items, entries.values
        sides = solve_nonnegative(*rows, factors, row_penalty, start=sides)
        factors = solve_nonnegative(by_item, users, turned, sides, item_penalty, start=factors)
    seen = np.diff(by_item) > 0
    if seen.any():
        factors[~seen] = settings.unseen * factors[seen].mean(axis=0)
    return factors


def _penalties(indptr: npt.NDArray[Any], settings: FactorSettings) -> Floats:
    counts: Floats = np.maximum(np.diff(indptr), 1).astype(np.float64)
    scaled: Floats = settings.penalty * counts**settings.count_exponent
    return scaled
