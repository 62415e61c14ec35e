"""Why an item has its score: the score as a sum, to which every rating of the history adds its part.

    score = centre + item + rest + sum over ratings of (level + taste) + cut

``item`` is the item's offset, the same for everybody. Through the fold-in, which is a linear solve, every rating adds
to the person's own level (``level``, the same for all items that show it) and to the person's vector (``taste``, which
depends on the item). ``rest`` is what the fold-in would say without any rating: that nothing else was taken, for
models that rank. ``cut`` brings a predicted rating back into the range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.catalogue import Catalogue, Goal
from discreet.model.doubt import Mark
from discreet.model.fold_in.histories import Rows
from discreet.model.fold_in.parts import coefficient_parts
from discreet.model.history import ReadHistory
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import ItemWeights

__all__ = ["Explanation", "Pull", "explain", "explain_weights"]


@dataclass(frozen=True)
class Pull:
    """What one rating of the history adds to the score."""

    item: int | str
    title: str | None
    rating: float | None
    level: float
    taste: float

    @property
    def total(self) -> float:
        """Through the person's level and through their taste."""
        return self.level + self.taste


@dataclass(frozen=True)
class Explanation:
    """A score and what it is the sum of.

    Parameters
    ----------
    item, title
        Of what the score is.
    goal
        Whether the score is a predicted rating or orders items.
    score
        As `Model.predict` gives it.
    centre, offset
        The same for all items, and the item's own: how well it is liked or how popular it is.
    rest
        What the history says by what is not in it.
    pulls
        What each rating adds, the largest first; of a click the rating is ``None``, of "not for me" it is -1.
    cut
        Of a predicted rating beyond the range.
    mark
        Whether next to nothing is known about the item, or it was added after training, where the model says so.
    ignored
        Ids of the history that the catalogue does not have.
    notes
        What to know about every list of the model.
    """

    item: int | str
    title: str | None
    goal: Goal
    score: float
    centre: float
    offset: float
    rest: float
    pulls: tuple[Pull, ...]
    cut: float
    mark: Mark | None = None
    ignored: int = 0
    notes: tuple[str, ...] = ()

    @property
    def level(self) -> float:
        """The person's own level, from all ratings together."""
        return math.fsum(pull.level for pull in self.pulls)

    @property
    def before(self) -> float:
        """The score for somebody of whom nothing is known."""
        return self.centre + self.offset

    def __iter__(self) -> Iterator[Pull]:
        return iter(self.pulls)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; ``terms`` and the ``total`` of all pulls add up to the score."""
        return {
            "item": self.item,
            "title": self.title,
            "goal": self.goal,
            "score": self.score,
            "mark": self.mark,
            "terms": {"centre": self.centre, "offset": self.offset, "rest": self.rest, "cut": self.cut},
            "level": self.level,
            "history": [{**asdict(pull), "total": pull.total} for pull in self.pulls],
            "ignored": self.ignored,
            "notes": list(self.notes),
        }


def explain(
    side: ItemSide, catalogue: Catalogue, titles: dict[Any, str], read: ReadHistory, item: int
) -> Explanation:
    """The score of the item at a position, for a history that was read."""
    explicit = side.scale.explicit
    values = side.scale.opinions(read.values) if side.goal == "rank" else read.values
    base, parts = coefficient_parts(side.rule, side, Rows(read.indptr, read.items, values))
    shown = float(side.rule.shown(side.n_items)[item])
    factors = side.factors[item]
    coefficients = side.fold_in(read.indptr, read.items, read.values)
    nowhere, places = np.zeros(1, dtype=np.int64), np.array([item])
    score = float(side.predict(coefficients, nowhere, places)[0])
    pulls = [
        Pull(one, titles.get(one), rating if explicit else None, level, taste)
        for one, rating, level, taste in zip(
            catalogue.ids[read.items].tolist(),
            read.values.tolist(),
            (shown * parts[:, 0]).tolist(),
            (parts[:, 1:] @ factors).tolist(),
            strict=True,
        )
    ]
    pulls.sort(key=lambda pull: -abs(pull.total))
    centre, offset = float(side.centre), float(side.offsets[item])
    rest = float(shown * base[0] + base[1:] @ factors)
    whole = math.fsum([centre, offset, rest, *(part for pull in pulls for part in (pull.level, pull.taste))])
    (mark,) = (None,) if side.doubt is None else side.doubt.marks(places)
    one = catalogue.ids[item].item() if hasattr(catalogue.ids[item], "item") else catalogue.ids[item]
    return Explanation(
        item=one,
        title=titles.get(one),
        goal=side.goal,
        score=score,
        centre=centre,
        offset=offset,
        rest=rest,
        pulls=tuple(pulls),
        cut=float(side.clipped(np.array([whole]))[0]) - whole,
        mark=mark,
        ignored=read.ignored,
    )


def explain_weights(
    side: ItemWeights, catalogue: Catalogue, titles: dict[Any, str], read: ReadHistory, item: int
) -> Explanation:
    """The score of the item at a position, from a table of weights: popularity, and what each entry adds."""
    evidence = side.fold_in(read.indptr, read.items, read.values)
    score = float(side.predict(evidence, np.zeros(1, dtype=np.int64), np.array([item]))[0])
    pulls = [
        Pull(one, titles.get(one), rating if side.scale.explicit or rating < 0.0 else None, 0.0, added)
        for one, rating, added in zip(
            catalogue.ids[read.items].tolist(),
            read.values.tolist(),
            side.parts(evidence, item).tolist(),
            strict=True,
        )
    ]
    pulls.sort(key=lambda pull: -abs(pull.total))
    one = catalogue.ids[item].item() if hasattr(catalogue.ids[item], "item") else catalogue.ids[item]
    return Explanation(
        item=one,
        title=titles.get(one),
        goal=side.goal,
        score=score,
        centre=0.0,
        offset=float(side.base[item]),
        rest=0.0,
        pulls=tuple(pulls),
        cut=0.0,
        ignored=read.ignored,
    )
