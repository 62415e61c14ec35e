"""What the server makes of messages, and non-negative factorisation with missing entries by alternating least squares.

The server runs it on prototypes, which is post-processing; the references run it on ratings, which is not private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.catalogue import RatingScale
from discreet.errors import ModelInvalid
from discreet.kernels.nonnegative import solve_nonnegative
from discreet.methods.prototypes.public.level_side import level_side
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.settings import FactorSettings
from discreet.model.fold_in import NonNegative
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["Entries", "factorise", "item_side_of", "nonnegative_factors"]

Ints = npt.NDArray[Any]
Rng: TypeAlias = int | np.random.Generator | None


@dataclass(frozen=True)
class Entries:
    """Rows to factorise, compressed: what is not listed is missing, not zero."""

    indptr: Ints
    items: Ints
    values: Floats
    n_items: int

    @classmethod
    def of_dense(cls, values: Floats, mask: npt.NDArray[np.bool_]) -> Entries:
        """From arrays of rows x items."""
        indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        return cls(indptr, np.nonzero(mask)[1], values[mask], values.shape[1])


def factorise(
    messages: Sequence[PrototypeMessage], settings: FactorSettings | None = None, rng: Rng = None, *,
    weighted: bool = False,
) -> ItemSide:  # fmt: skip
    """The server's side: stack all prototypes and factorise them; evidence of deviations is put together instead.

    Parameters
    ----------
    messages
        One from each silo, over the same catalogue and scale.
    settings
        Public.
    rng
        Of the start.
    weighted
        Whether a prototype counts in proportion to its (noisy) size.

    Notes
    -----
    **Privacy.** Nothing but messages is read: post-processing.
    """
    if not messages:
        raise ModelInvalid("there is no message to factorise; at least one silo must take part")
    first, chosen = messages[0], FactorSettings() if settings is None else settings
    for message in messages:
        if (message.catalogue, message.scale) != (first.catalogue, first.scale):
            raise ModelInvalid(
                "silos sent prototypes over different catalogues or scales; agree on one first"
            )
    evidence = [message.evidence for message in messages if message.evidence is not None]
    if evidence:
        if len(evidence) < len(messages):
            raise ModelInvalid(
                "some silos sent prototypes of ratings and some of deviations; agree on one first"
            )
        return level_side(evidence, first.scale, chosen.rank)
    entries = Entries.of_dense(
        np.concatenate([message.values for message in messages]),
        np.concatenate([message.mask for message in messages]),
    )
    weights = None
    if weighted:
        weights = np.concatenate([message.weights for message in messages])
        weights = weights / weights.mean()
    return item_side_of(nonnegative_factors(entries, chosen, rng, weights), first.scale, chosen)


def item_side_of(factors: Floats, scale: RatingScale, settings: FactorSettings) -> ItemSide:
    """Non-negative factors as an item side: a rating is u . v, so there is neither a centre nor an offset."""
    rule = NonNegative(settings.user_penalty, settings.count_exponent)
    return ItemSide(scale, 0.0, np.zeros(len(factors)), factors, rule)


def nonnegative_factors(
    entries: Entries, settings: FactorSettings, rng: Rng = None, weights: Floats | None = None
) -> Floats:
    """Item factors V >= 0 of sum w_i (x_ij - u_i . v_j)^2 + penalty (|U|^2 + |V|^2) over the entries."""
    by_item, users, order = kernels.transpose(entries.indptr, entries.items, entries.n_items)
    turned = entries.values[order]
    row_penalty = _penalties(entries.indptr, settings.penalty, settings)
    item_penalty = _penalties(by_item, settings.penalty, settings)
    # A start at the size of the values: random positive vectors whose products are about their mean.
    size = np.sqrt(max(float(entries.values.mean()) if len(entries.values) else 0.0, 1e-6) / settings.rank)
    factors: Floats = np.random.default_rng(rng).uniform(0.5, 1.5, (entries.n_items, settings.rank)) * size
    sides = None
    for _ in range(settings.rounds):
        sides = solve_nonnegative(
            entries.indptr, entries.items, entries.values, factors, row_penalty, start=sides
        )
        factors = solve_nonnegative(by_item, users, turned, sides, item_penalty, weights, factors)
    seen = np.diff(by_item) > 0
    if seen.any():
        factors[~seen] = settings.unseen * factors[seen].mean(axis=0)
    return factors


def _penalties(indptr: Ints, penalty: float, settings: FactorSettings) -> Floats:
    counts: Floats = np.maximum(np.diff(indptr), 1).astype(np.float64)
    scaled: Floats = penalty * counts**settings.count_exponent
    return scaled
