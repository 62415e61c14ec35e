"""How much is known of each item: signal against noise, from what the model says of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.model import Model
from discreet.model.doubt import NOTHING_LEARNT, Doubt
from discreet.model.item_weights import ItemWeights
from discreet.privacy.accounting import epsilon_from
from discreet.types import Floats, Indices

__all__ = ["FACTORS", "Knowledge", "More", "TableFacts", "knowledge_of", "known_first", "table_facts"]

FACTORS = (1.0, 2.0, 4.0, 10.0)
"""How many times more users, or cost mu, a report looks at."""

_GROUPS = (
    ("the most popular tenth", 0.0, 0.1),
    ("the next four tenths", 0.1, 0.5),
    ("the other half", 0.5, 1.0),
)


@dataclass(frozen=True)
class More:
    """What less noise would bring: ``factor`` times as many users, or as much mu, which is ``epsilon``."""

    factor: float
    epsilon: float | None
    learnt: float
    known: int


@dataclass(frozen=True)
class Knowledge:
    """Signal against noise.

    Parameters
    ----------
    learnt
        Of each item, in the order of ``order``: the share of what could be learnt of it that was.
    order
        Positions of the items, the most popular first, as far as the model says.
    known, unknown, added
        How many items there is something, and next to nothing known of; and how many were added after training.
    groups
        Name, number of items and mean share learnt, from head to tail.
    more
        The same with less noise; empty where that cannot be said.
    """

    learnt: Floats
    order: Indices
    known: int
    unknown: int
    added: int
    groups: tuple[tuple[str, int, float], ...]
    more: tuple[More, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "known": self.known,
            "unknown": self.unknown,
            "added": self.added,
            "mean_learnt": float(self.learnt.mean()),
            "groups": [
                {"name": name, "items": items, "learnt": learnt} for name, items, learnt in self.groups
            ],
            "more": [
                {"factor": one.factor, "epsilon": one.epsilon, "mean_learnt": one.learnt, "known": one.known}
                for one in self.more
            ],
        }


@dataclass(frozen=True)
class TableFacts:
    """What a table of weights speaks of.

    Parameters
    ----------
    items, others
        How many items have weights, and how many keep their place by popularity alone.
    weights
        How many there are.
    noise
        Standard deviation of the noise in each pair, where a person adds at most 1 to all pairs together.
    """

    items: int
    others: int
    weights: int
    noise: float

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def table_facts(model: Model) -> TableFacts | None:
    """``None`` for a model of factors."""
    side = model.item_side
    if not isinstance(side, ItemWeights):
        return None
    items = int(side.known.sum())
    return TableFacts(items, side.n_items - items, len(side.weights), side.noise)


def known_first(model: Model) -> Indices:
    """Positions of the items: by released popularity, or by how much was seen of them, or as they come."""
    side = model.item_side
    if isinstance(side, ItemWeights):
        popular: Indices = np.argsort(-side.counts, kind="stable")
        return popular
    if side.popularity is not None:
        weight = side.popularity
    elif side.goal == "rank":
        weight = side.offsets
    elif side.doubt is not None:
        weight = -side.doubt.noise_ratio
    else:
        weight = np.zeros(side.n_items)
    late = side.doubt.added if side.doubt is not None else np.zeros(side.n_items, dtype=np.bool_)
    order: Indices = np.lexsort((np.arange(side.n_items), -weight, late))
    return order


def knowledge_of(model: Model) -> Knowledge | None:
    """``None`` for a model that does not say how sure it is."""
    if isinstance(model.item_side, ItemWeights) or (doubt := model.item_side.doubt) is None:
        return None
    order = known_first(model)
    learnt = _learnt(doubt, 1.0)
    trained = ~doubt.added
    unknown = int(doubt.unknown.sum())
    ordered, count = learnt[order], len(order)
    groups = []
    for name, start, end in _GROUPS:
        part = ordered[round(start * count) : round(end * count)]
        if len(part):
            groups.append((name, len(part), float(part.mean())))
    return Knowledge(
        learnt=ordered,
        order=order,
        known=int(trained.sum()) - unknown,
        unknown=unknown,
        added=int((~trained).sum()),
        groups=tuple(groups),
        more=_more(model, doubt),
    )


def _learnt(doubt: Doubt, factor: float) -> Floats:
    """Share of each item's prior variance that is gone, with the noise's standard deviation divided by a factor."""
    # Noise over signal is r / (1 - r), and falls with the square of the factor.
    ratio = doubt.noise_ratio
    less = ratio / (ratio + (1.0 - ratio) * factor**2)
    share: Floats = 1.0 - np.where(doubt.added, ratio, less)
    return share


def _more(model: Model, doubt: Doubt) -> tuple[More, ...]:
    """Noise of a sum over users falls with their number and with mu; on devices it does not fall that fast."""
    statement = model.statement
    if not statement.private or statement.model == "local" or not statement.releases:
        return ()
    own = statement.own
    if not own.mu or not own.delta:
        return ()
    trained = ~doubt.added
    found = []
    for factor in FACTORS:
        learnt = _learnt(doubt, factor)
        epsilon = own.epsilon if factor == 1.0 else epsilon_from(factor * own.mu, own.delta)
        known = int((trained & (1.0 - learnt < NOTHING_LEARNT)).sum())
        found.append(More(factor, epsilon, float(learnt.mean()), known))
    return tuple(found)
