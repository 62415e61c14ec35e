"""Why an item has its score: the score as a sum, to which every rating of the history adds its part.

    score = centre + item + rest + sum over ratings of (level + taste) + cut

``item`` is the item's offset, the same for everybody. Through the fold-in, which is a linear solve, every rating adds
to the person's own level (``level``, the same for all items that show it) and to the person's vector (``taste``, which
depends on the item). ``rest`` is what the fold-in would say without any rating: that nothing else was taken, for
models that rank. ``cut`` brings a predicted rating back into the range. In a table of weights every entry of the
history adds by ``taste``, and by nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.catalogue import Catalogue, Goal
from discreet.model.history import ReadHistory
from discreet.model.item_weights import AnySide
from discreet.model.recommendations import Mark

__all__ = ["Explanation", "Pull", "explain"]


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
    """A score, as `Model.predict` gives it, and what it is the sum of (see above).

    Parameters
    ----------
    goal
        Whether the score is a predicted rating or orders items.
    pulls
        What each rating adds, the largest first; of a click the rating is ``None``, of "not for me" it is -1.
    mark, notes
        What to know about the item (`Mark`), and about every list of the model.
    ignored
        How many ids of the history the catalogue does not have.
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

    def __iter__(self) -> Iterator[Pull]:
        return iter(self.pulls)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values; ``terms`` and the ``total`` of all pulls add up to the score."""
        told = {name: getattr(self, name) for name in ("item", "title", "goal", "score", "mark")}
        return told | {
            "terms": {name: getattr(self, name) for name in ("centre", "offset", "rest", "cut")},
            "level": self.level,
            "history": [{**asdict(pull), "total": pull.total} for pull in self.pulls],
            "ignored": self.ignored,
            "notes": list(self.notes),
        }


def explain(side: AnySide, catalogue: Catalogue, read: ReadHistory, item: int) -> Explanation:
    """The score of the item at a position, for a history that was read."""
    own = read.indptr, read.items, read.values
    rest, levels, tastes = side.terms(*own, item)
    coefficients: Any = side.fold_in(*own)
    score = side.predict(coefficients, np.zeros(1, dtype=np.int64), np.array([item]))
    centre, offset = side.common(item)
    whole = math.fsum([centre, offset, rest, *levels.tolist(), *tastes.tolist()])
    titles, explicit = catalogue.titles, side.scale.explicit
    ids = catalogue.ids[read.items].tolist()
    added = zip(ids, read.values.tolist(), levels.tolist(), tastes.tolist(), strict=True)
    pulls = [
        Pull(one, titles.get(one), rating if explicit or rating < 0.0 else None, level, taste)
        for one, rating, level, taste in added
    ]
    (one,) = catalogue.ids[item : item + 1].tolist()
    return Explanation(
        item=one,
        title=titles.get(one),
        goal=side.goal,
        score=float(score[0]),
        centre=centre,
        offset=offset,
        rest=rest,
        pulls=tuple(sorted(pulls, key=lambda pull: -abs(pull.total))),
        cut=float(side.clipped(np.array([whole]))[0]) - whole,
        mark=side.marks([item])[0],
        ignored=read.ignored,
        notes=side.notes,
    )
