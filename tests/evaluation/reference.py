"""The definitions of the metrics, word by word, for one person at a time."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from discreet.types import Floats

__all__ = ["auc", "half_width", "list_metrics", "novelty"]


def list_metrics(places: Sequence[object], wanted: Collection[object], k: int) -> dict[str, float]:
    """Of the first ``k`` places of a list, for somebody who wants something."""
    first = list(places)[:k]
    hits = [place for place, item in enumerate(first, 1) if item in wanted]
    most = min(k, len(wanted))
    precisions = [sum(item in wanted for item in first[:place]) / place for place in hits]
    return {
        "recall": len(hits) / most,
        "ndcg": sum(1 / math.log2(place + 1) for place in hits)
        / sum(1 / math.log2(place + 1) for place in range(1, most + 1)),
        "precision": len(hits) / k,
        "map": sum(precisions) / most,
        "mrr": 1 / hits[0] if hits else 0.0,
        "hit_rate": 1.0 if hits else 0.0,
    }


def novelty(places: Sequence[object], counts: Mapping[object, int], people: int) -> float:
    """Mean surprise; an item that nobody met counts as if one person had."""
    return sum(-math.log2(counts.get(item, 0) / people or 1 / people) for item in places) / len(places)


def auc(liked: Sequence[float], disliked: Sequence[float]) -> float:
    """Share of pairs in order, ties a half."""
    pairs = [(good, bad) for good in liked for bad in disliked]
    return sum((good > bad) + 0.5 * (good == bad) for good, bad in pairs) / len(pairs)


def half_width(values: Sequence[float] | Floats) -> float:
    """Of the usual interval of a mean."""
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return 1.96 * math.sqrt(variance / len(values))
