"""Private EASE: two noisy sums, and the table that follows from them. Public; reads like the method.

counts  = sum of everybody's items, each person at length 1                     5 % of mu^2
head    = items whose mass stands out of the noise of a pair
pairs   = sum of everybody's pairs of the head, each person at length 1         the rest
G       = pairs without their noise;   d = diagonal, from the counts
ridge   = the multiple whose weights, made from one part of the noise, explain most of the other part
B       = EASE(G, d, ridge) beside popularity, scores divided by count^0.15, the largest of each column kept
beyond  = weights of items outside the head, from public features: the first term of the same formula
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from discreet import kernels
from discreet.methods.ease.public.denoise import denoised
from discreet.methods.ease.public.earlier import added_counts, added_pairs
from discreet.methods.ease.public.features import FeatureRows, Said, said
from discreet.methods.ease.public.head import Popularity, choose_head, popularity
from discreet.methods.ease.public.queries import CountsQuery, PairsQuery
from discreet.methods.ease.public.table import EXPONENT, Judged, Weights, ease, judged, ridge
from discreet.methods.public.half import Facts, PublicHalf, Queries
from discreet.methods.public.query import Trained
from discreet.methods.public.settings import PrivateSettings
from discreet.model.item_weights import ItemWeights, Sums
from discreet.model.likeness import Likeness, Triples, joined
from discreet.privacy.gaussian.pairs import NoisyCounts, NoisyPairs
from discreet.types import Floats, Singles

__all__ = ["EASE_HALF", "EASESettings", "item_weights", "square_of"]

COUNTS_SHARE = 0.05
"""Of mu^2, for the counts."""
ENTRIES = 300
"""Largest weights that are kept for each item that is scored."""
RIDGES = (1.0, 3.0, 10.0, 30.0)
"""Multiples of the ridge that are tried."""
# Items that the ridge is chosen on: the most taken; and how often the noise is split for it.
_JUDGED, _SPLITS = 1500, 4
# How much of the fresh noise is added where weights are made: they have a quarter more variance than those that will be
# used, and the judge five times as much.
_ADDED = 0.5


class EASESettings(PrivateSettings):
    """What private EASE can be told.

    Parameters
    ----------
    head
        Most items that pairs are counted of; the others keep their place by popularity. Memory goes with its square,
        time with its cube.
    keep_sums
        Whether the model carries the released sums, so that a later run can be added to them (``start=``).
    """

    # Beyond, the pairs are more than the 10^9 bytes that the store of a silo takes in one piece.
    head: Annotated[int, Field(ge=2, le=15_000)] = 6000
    keep_sums: bool = True


def _train(settings: EASESettings, facts: Facts, rng: np.random.Generator) -> Queries:
    counts_mu, pairs_mu = facts.mu * math.sqrt(COUNTS_SHARE), facts.mu * math.sqrt(1.0 - COUNTS_SHARE)
    counts = yield CountsQuery("how often each item is taken", counts_mu, facts.n_items, planned=2)
    sigma = facts.noise_excess * math.sqrt(0.5) / pairs_mu
    counts, sigma = added_counts(facts.earlier, counts, sigma)
    head = choose_head(counts, sigma, settings.head)
    pairs = yield PairsQuery("how often two items are taken together", pairs_mu, head, planned=2)
    counts, pairs = added_pairs(facts.earlier, counts, head, pairs)
    return Trained(item_weights(facts, counts, head, pairs, rng, keep=settings.keep_sums), 2)


def item_weights(
    facts: Facts,
    counts: NoisyCounts,
    head: npt.NDArray[np.int32],
    pairs: NoisyPairs,
    rng: np.random.Generator,
    *,
    keep: bool,
) -> ItemWeights:
    """The model that follows from both sums. Post-processing: public mathematics alone."""
    popular = popularity(counts)
    released = pairs.pairs.astype(np.float32)
    features = None if facts.features is None else FeatureRows.of(facts.features, popular)
    inside = _of(popular, head), _taken(features, head)
    made = _weights(square_of(released, len(head)), pairs.sigma, *inside, rng)
    base = made.weights.scale * popular.weight * counts.counts
    scale = popular.counts**EXPONENT
    triples = _largest(made.weights.pairs * scale[head].astype(np.float32), head)
    together, likeness = _together(triples, head, released, facts.n_items), None
    if features is not None:
        likeness = _likeness(features, made, head, scale)
        beyond = likeness.weights(np.isin(np.arange(facts.n_items), head))
        triples = joined([triples, beyond])
        together = np.concatenate([together, np.zeros(len(beyond[0]), np.float32)])
    rows, others, weights = triples
    order = np.lexsort((others, rows))
    sums = None
    if keep:
        sums = Sums(head, released, pairs.sigma, counts.sigma, counts.users, counts.users_sigma)
    return ItemWeights(
        scale=facts.scale,
        counts=counts.counts,
        base=base * scale,
        starts=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=facts.n_items))]),
        others=others[order].astype(np.int32),
        weights=weights[order],
        together=together[order],
        mass=np.maximum(popular.mass, pairs.sigma),
        noise=pairs.sigma,
        sums=sums,
        likeness=likeness,
    )


class _Made(NamedTuple):
    """Weights of the head, at which multiple of the ridge, and what features say."""

    weights: Weights
    multiple: float
    features: Said | None


def _weights(
    noisy: Singles, sigma: float, popular: Popularity, features: FeatureRows | None, rng: np.random.Generator
) -> _Made:
    """Weights of the head; all zero, and popularity alone, where no taste stands out of the noise."""
    if sigma == 0.0:
        found = None if features is None else said(noisy, features)
        clean, shared, multiple = noisy, np.zeros(len(noisy)), 1.0
    else:
        clean, shared, found = denoised(noisy, sigma, features)
        chosen = _multiple(noisy, clean, sigma, popular, features, rng)
        if chosen is None:
            return _Made(Weights(np.zeros_like(noisy), 1.0), 1.0, None)
        multiple = chosen
    return _Made(ease(clean, _diagonal(shared, popular, sigma), popular.mass, multiple), multiple, found)


def _multiple(
    noisy: Singles,
    clean: Singles,
    sigma: float,
    popular: Popularity,
    features: FeatureRows | None,
    rng: np.random.Generator,
) -> float | None:
    """Which multiple of the ridge; `None` where what weights explain does not stand out of the noise.

    The most popular items say it. Where they say nothing, all are looked at once: pairs of rarer items may stand out.
    """
    items = np.sort(np.argsort(-popular.counts, kind="stable")[:_JUDGED])
    grid = np.ix_(items, items)
    parts = noisy[grid], clean[grid], sigma, _of(popular, items), _taken(features, items)
    found = Judged.mean([_split(*parts, RIDGES, rng) for _ in range(_SPLITS)])
    if found.chosen is not None:
        return RIDGES[found.chosen]
    if len(items) == len(noisy):
        return None
    likely = RIDGES[int(np.argmax(found.deviations))]
    again = _split(noisy, clean, sigma, popular, features, (likely,), rng)
    return None if again.chosen is None else likely


def _split(
    noisy: Singles,
    clean: Singles,
    sigma: float,
    popular: Popularity,
    features: FeatureRows | None,
    multiples: Sequence[float],
    rng: np.random.Generator,
) -> Judged:
    """Weights at each multiple of the ridge, made from one part of the noise and judged by another.

    Z is drawn as the noise of the release was, with what chance adds to a sum over people beside it. Weights made from
    H + a Z are judged by H - Z / a, whose noise they have not seen. See ``proofs/splitting.md``.
    """
    variance = np.float32(sigma**2) + np.float32(popular.weight**2) * clean
    usual, order = float(variance.mean()), len(noisy)
    fresh = square_of(rng.standard_normal(order * (order - 1) // 2, dtype=np.float32), order)
    fresh *= np.sqrt(variance, out=variance)
    del variance  # as large as the whole head, where all of it is looked at
    judge = noisy - fresh * np.float32(1.0 / _ADDED)
    fresh *= np.float32(_ADDED)
    fresh += noisy
    one, shared, _ = denoised(fresh, math.sqrt(1.0 + _ADDED**2) * sigma, features)
    del fresh
    diagonal = _diagonal(shared, popular, sigma)
    weights = [ease(one.copy(), diagonal, popular.mass, multiple).pairs for multiple in multiples]
    return judged(weights, judge, diagonal, (1.0 + _ADDED**-2) * usual)


def _diagonal(shared: Floats, popular: Popularity, sigma: float) -> Floats:
    """How often each item is taken together with itself: from the counts, at least what the directions say."""
    return np.maximum(np.maximum(popular.mass, shared), max(sigma, 1e-6))


def square_of(triangle: Singles, order: int) -> Singles:
    """The symmetric matrix of a triangle above its diagonal, which is zero."""
    square = np.zeros((order, order), np.float32)
    square[np.triu_indices(order, 1)] = triangle
    square += square.T
    return square


def _of(popular: Popularity, items: npt.NDArray[np.integer]) -> Popularity:
    return replace(popular, counts=popular.counts[items], mass=popular.mass[items])


def _taken(features: FeatureRows | None, items: npt.NDArray[np.integer]) -> FeatureRows | None:
    return None if features is None else features.take(items)


def _largest(weights: Singles, head: npt.NDArray[np.int32]) -> Triples:
    """The largest weights of each column: items, other items, and weights."""
    order = len(head)
    kept = weights != 0.0
    if order > ENTRIES:
        sizes = np.abs(weights)
        bar = np.partition(sizes, order - ENTRIES, axis=0)[order - ENTRIES]
        kept &= sizes >= bar
    rows, columns = np.nonzero(kept)
    return head[rows].astype(np.int64), head[columns].astype(np.int64), weights[rows, columns]


def _together(triples: Triples, head: npt.NDArray[np.int32], released: Singles, n_items: int) -> Singles:
    """What was released of the two items of each weight."""
    place = np.full(n_items, -1, np.int64)
    place[head] = np.arange(len(head))
    ends = place[triples[0]], place[triples[1]]
    found: Singles = released[kernels.pair_place(np.minimum(*ends), np.maximum(*ends), len(head))]
    return found


def _likeness(features: FeatureRows, made: _Made, head: npt.NDArray[np.int32], scale: Floats) -> Likeness:
    """What features say of all items, in the head or not; nothing, where no taste stands out."""
    found = made.features or Said(0.0, np.zeros(len(features.groups)))
    rows, roots = features.weighted(found)
    mass = np.square(features.roots.astype(np.float64))
    return Likeness(
        starts=rows.indptr.astype(np.int64),
        columns=rows.indices.astype(np.int32),
        values=rows.data,
        roots=roots,
        constant=found.constant,
        mass=mass,
        ridge=mass + made.multiple * ridge(mass, float(mass[head].mean())),
        scale=scale,
    )


def _pairs_of(settings: EASESettings, n_items: int) -> int:
    """No query together with a release has more numbers, and no model is longer: sums, and 12 bytes a weight."""
    order = min(settings.head, n_items)
    return 4 * n_items + order * (order + 1) // 2 + 2 * order * min(order, ENTRIES) + 1


EASE_HALF = PublicHalf(
    "ease",
    EASESettings,
    _train,
    (CountsQuery, PairsQuery),
    adaptive=False,
    makes_lists=True,
    numbers=_pairs_of,
    uses_features=True,
    uses_start=True,
)
