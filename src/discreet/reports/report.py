"""A report: all that the page shows, as numbers.

Quality is measured on the holder's own ratings, beside baselines, with intervals over people: for the holder alone.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from discreet.evaluation import metrics
from discreet.evaluation.protocol import pairs
from discreet.evaluation.result import Measured
from discreet.model import Model, Recommendations
from discreet.model.item_weights import ItemWeights
from discreet.statements import Document, write_document
from discreet.types import Floats

__all__ = [
    "AT",
    "Knowledge",
    "Quality",
    "Report",
    "TableFacts",
    "knowledge_of",
    "make_report",
    "neighbours_of",
    "quality_of",
    "table_facts",
]

_GROUPS = (
    ("the most popular tenth", 0.0, 0.1),
    ("the next four tenths", 0.1, 0.5),
    ("the other half", 0.5, 1.0),
)
_SHOWN_ITEMS, _NEIGHBOURS = 8, 5
AT = 20
"""Length of the lists."""


@dataclass(frozen=True)
class Knowledge:
    """Signal against noise, of a model that says how sure it is of each item.

    ``learnt`` is the share of what could be learnt of each item that was, the best known first; ``groups`` have a name,
    a number of items and their mean share, from head to tail.
    """

    learnt: Floats
    known: int
    unknown: int
    added: int
    groups: tuple[tuple[str, int, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        groups = [{"name": name, "items": items, "learnt": learnt} for name, items, learnt in self.groups]
        counts = {"known": self.known, "unknown": self.unknown, "added": self.added}
        return counts | {"mean_learnt": float(self.learnt.mean()), "groups": groups}


@dataclass(frozen=True)
class TableFacts:
    """What a table of weights speaks of: items that have some, and others that keep their place by popularity alone.

    ``noise`` is its standard deviation in each pair, where a person adds at most 1 to all pairs together.
    """

    items: int
    others: int
    weights: int
    noise: float


@dataclass(frozen=True)
class Quality:
    """What the model does on test ratings.

    ``scores`` has one entry for the model and one for each baseline; ``better`` is how much better than the last
    baseline the model is, user by user.
    """

    measure: str
    lower_is_better: bool
    users: int
    ratings: int
    scores: dict[str, Measured]
    better: Measured

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Report:
    """A model's statement, what it knows, what is like what, and how good it is on the holder's ratings."""

    document: Document
    model: Model
    knowledge: Knowledge | None
    table: TableFacts | None
    neighbours: dict[int | str, Recommendations]
    quality: Quality | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; what depends on the holder's ratings is under ``holder``."""
        side, titles = self.model.item_side, self.model.catalogue.titles
        return {
            "statement": self.document.to_dict(),
            "goal": self.model.goal,
            "items": side.n_items,
            "rank": side.rank,
            "releases": [
                {"name": one.name, "mu": one.mu, "epsilon": one.epsilon, "share": one.share}
                for one in self.document.statement.releases
            ],
            "knowledge": None if self.knowledge is None else self.knowledge.to_dict(),
            "table": None if self.table is None else asdict(self.table),
            "neighbours": [
                {
                    "item": item,
                    "title": titles.get(item),
                    "neighbours": [
                        {
                            "item": one.item,
                            "title": one.title,
                            "similarity": one.score,
                            "deviation": one.deviation,
                        }
                        for one in others
                    ],
                }
                for item, others in self.neighbours.items()
            ],
            "holder": None if self.quality is None else {"quality": self.quality.to_dict()},
        }


def make_report(directory: str | Path, history: Ratings | None = None, test: Ratings | None = None) -> Report:
    """The report of a saved model; with test ratings, and what their users did before, also its quality."""
    model = Model.load(directory)
    quality = quality_of(model, history, test) if history is not None and test is not None else None
    about = knowledge_of(model), table_facts(model), neighbours_of(model)
    return Report(write_document(directory), model, *about, quality)


def table_facts(model: Model) -> TableFacts | None:
    """``None`` for a model of factors."""
    side = model.item_side
    if not isinstance(side, ItemWeights):
        return None
    items = int(side.known.sum())
    return TableFacts(items, side.n_items - items, len(side.weights), side.noise)


def knowledge_of(model: Model) -> Knowledge | None:
    """``None`` for a model that does not say how sure it is."""
    side = model.item_side
    if isinstance(side, ItemWeights) or side.noise_ratio is None:
        return None
    learnt = (1.0 - side.noise_ratio)[side.best_known]
    count, unknown, added = len(learnt), int(side.unknown.sum()), int(side.added.sum())
    parts = [(name, learnt[round(start * count) : round(end * count)]) for name, start, end in _GROUPS]
    groups = tuple((name, len(part), float(part.mean())) for name, part in parts if len(part))
    return Knowledge(learnt, count - unknown - added, unknown, added, groups)


def neighbours_of(model: Model) -> dict[int | str, Recommendations]:
    """Of the most popular items of which something is known; none where everybody's list is the same."""
    side, order = model.item_side, model.item_side.best_known
    if not isinstance(side, ItemWeights) and side.rank == 0:
        return {}
    there = side.known if isinstance(side, ItemWeights) else side.known & np.any(side.factors, axis=1)
    shown = model.catalogue.ids[order[there[order]][:_SHOWN_ITEMS]].tolist()
    found = {item: model.similar(item, _NEIGHBOURS) for item in shown}
    return {
        item: Recommendations(tuple(one for one in others if one.score > 0.0), len(others))
        for item, others in found.items()
    }


def quality_of(model: Model, history: Ratings, test: Ratings) -> Quality:
    """Errors of predicted ratings, or recall of lists for a model that ranks.

    Notes
    -----
    **Privacy.** Depends on the ratings without any noise: for their holder, not to be published.
    """
    if test.n_ratings == 0:
        raise RatingsInvalid("the test has no ratings that could be used; nothing can be measured")
    ((rows, _),) = pairs(model, history, test)
    sizes = np.diff(test.indptr).astype(np.float64)
    if errors := model.goal == "rate":
        sums, owners = (
            _squares(model, history, rows, test),
            np.repeat(np.arange(len(sizes)), np.diff(test.indptr)),
        )
        sums = {name: np.bincount(owners, one, len(sizes)).astype(np.float64) for name, one in sums.items()}
    else:
        sums, sizes = _recalls(model, history, rows, test), np.minimum(sizes, 1.0)
    here = sizes > 0.0
    values, without = {}, {}
    for name, one in sums.items():
        left = np.maximum(one.sum() - one, 0.0)[here] / np.maximum((sizes.sum() - sizes)[here], 1.0)
        values[name] = float(one.sum() / sizes.sum())
        without[name] = left
        if errors:
            values[name], without[name] = math.sqrt(values[name]), np.sqrt(left)
    last, sign = list(values)[-1], 1.0 if errors else -1.0
    return Quality(
        measure="rmse" if errors else f"recall@{AT}",
        lower_is_better=errors,
        users=len(sizes) if errors else int(here.sum()),
        ratings=test.n_ratings,
        scores={name: _measured(value, without[name]) for name, value in values.items()},
        better=_measured(sign * (values[last] - values["model"]), sign * (without[last] - without["model"])),
    )


def _squares(model: Model, history: Ratings, rows: Ratings, test: Ratings) -> dict[str, Floats]:
    """Squared errors of the test ratings."""
    overall = metrics.global_mean(history)
    predicted = {
        "model": model.score_pairs(rows, test.indptr, test.items)[1],
        "global mean": np.full(len(test.values), overall),
        "user mean": np.repeat(metrics.user_means(rows, overall), np.diff(test.indptr)),
    }
    return {name: np.square(one - test.values) for name, one in predicted.items()}


def _recalls(model: Model, history: Ratings, rows: Ratings, test: Ratings) -> dict[str, Floats]:
    """Recall of each user; 0 for users without a test rating, who do not count."""
    lists = {
        "model": model.top_items(rows, AT),
        "popularity": metrics.popularity_ranking(history, rows, model.item_side.n_items, AT),
    }
    recalls = {name: metrics.recalls(one, test.indptr, test.items, AT) for name, one in lists.items()}
    return {name: np.nan_to_num(one) for name, one in recalls.items()}


def _measured(value: float, without: Floats) -> Measured:
    """With its 95 % interval; ``without`` is the same with each person left out (jackknife)."""
    people = len(without)
    reach = 1.96 * math.sqrt((people - 1) / people * float(np.square(without - without.mean()).sum()))
    return Measured(value, value - reach, value + reach)
