"""Quality on the holder's own ratings, beside baselines, with intervals, from head to tail. For the holder alone.

Intervals are 95 % percentile intervals of a bootstrap over users, who are drawn with everything they rated: ratings of
one user are not independent of each other.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from discreet.evaluation import baselines, metrics
from discreet.evaluation.intervals import Measured
from discreet.evaluation.protocol import pairs
from discreet.model import Model
from discreet.types import Bools, Floats

__all__ = ["AT", "Quality", "Slice", "quality_of"]

AT = 20
"""Length of the lists."""

_DRAWS = 500
_SLICES = (("head", 0.2), ("middle", 0.5), ("tail", 1.0))


@dataclass(frozen=True)
class Slice:
    """Part of the catalogue by popularity: how many test ratings, and how the model and the baseline do on them."""

    name: str
    items: int
    ratings: int
    model: float | None
    baseline: float | None


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
    slices: tuple[Slice, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self) | {"slices": [asdict(one) for one in self.slices]}


def quality_of(model: Model, history: Ratings, test: Ratings, rng: int = 0) -> Quality:
    """Errors of predicted ratings, or recall of lists for a model that ranks.

    Notes
    -----
    **Privacy.** Depends on the ratings without any noise: for their holder, not to be published.
    """
    if test.n_ratings == 0:
        raise RatingsInvalid("the test has no ratings that could be used; nothing can be measured")
    ((rows, _),) = pairs(model, history, test)
    counts = np.bincount(history.items, minlength=model.item_side.n_items)
    measure = _errors if model.goal == "rate" else _lists
    return measure(model, history, rows, test, _groups(counts), np.random.default_rng(rng))


def _errors(
    model: Model,
    history: Ratings,
    rows: Ratings,
    test: Ratings,
    groups: list[Bools],
    rng: np.random.Generator,
) -> Quality:
    overall = baselines.global_mean(history)
    own = np.repeat(baselines.user_means(rows, overall), np.diff(test.indptr))
    predicted = {
        "model": model.score_pairs(rows, test.indptr, test.items)[1],
        "global mean": np.full(len(test.values), overall),
        "user mean": own,
    }
    owners = np.repeat(np.arange(len(test.indptr) - 1), np.diff(test.indptr))
    users = len(test.indptr) - 1
    squares = {name: np.square(one - test.values) for name, one in predicted.items()}
    sums = {name: np.bincount(owners, weights=one, minlength=users) for name, one in squares.items()}
    numbers = np.diff(test.indptr).astype(np.float64)
    totals = _resampled(np.column_stack([*sums.values(), numbers]), rng)
    drawn = {name: np.sqrt(totals[:, k] / np.maximum(totals[:, -1], 1.0)) for k, name in enumerate(sums)}
    values = {name: metrics.rmse(one, test.values) for name, one in predicted.items()}
    slices = []
    for (name, _), group in zip(_SLICES, groups, strict=True):
        here = group[test.items]
        found = {one: float(np.sqrt(squares[one][here].mean())) if here.any() else None for one in squares}
        slices.append(Slice(name, int(group.sum()), int(here.sum()), found["model"], found["user mean"]))
    return _quality("rmse", True, test, users, values, drawn, tuple(slices))


def _lists(
    model: Model,
    history: Ratings,
    rows: Ratings,
    test: Ratings,
    groups: list[Bools],
    rng: np.random.Generator,
) -> Quality:
    n_items = model.item_side.n_items
    lists = {
        "model": model.top_items(rows, AT),
        "popularity": baselines.popularity_ranking(history, rows, n_items, AT),
    }
    with_target = np.diff(test.indptr) > 0
    recalls = {
        name: metrics.recalls(one, test.indptr, test.items, AT)[with_target] for name, one in lists.items()
    }
    totals = _resampled(np.column_stack([*recalls.values(), np.ones(int(with_target.sum()))]), rng)
    drawn = {name: totals[:, k] / np.maximum(totals[:, -1], 1.0) for k, name in enumerate(recalls)}
    values = {name: float(one.mean()) for name, one in recalls.items()}
    slices = []
    for (name, _), group in zip(_SLICES, groups, strict=True):
        wanted = int(group[test.items].sum())
        found = {}
        for way, ranking in lists.items():
            good = metrics.hits(ranking, test.indptr, test.items) & group[np.maximum(ranking, 0)]
            found[way] = float(good.sum() / wanted) if wanted else None
        slices.append(Slice(name, int(group.sum()), wanted, found["model"], found["popularity"]))
    return _quality(f"recall@{AT}", False, test, int(with_target.sum()), values, drawn, tuple(slices))


def _quality(
    measure: str,
    lower: bool,
    test: Ratings,
    users: int,
    values: dict[str, float],
    drawn: dict[str, npt.NDArray[Any]],
    slices: tuple[Slice, ...],
) -> Quality:
    last, sign = list(values)[-1], (1.0 if lower else -1.0)
    gain = sign * (drawn[last] - drawn["model"])
    return Quality(
        measure=measure,
        lower_is_better=lower,
        users=users,
        ratings=test.n_ratings,
        scores={name: _measured(value, drawn[name]) for name, value in values.items()},
        better=_measured(sign * (values[last] - values["model"]), gain),
        slices=slices,
    )


def _measured(value: float, drawn: npt.NDArray[Any]) -> Measured:
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return Measured(value, low, high)


def _resampled(columns: Floats, rng: np.random.Generator) -> Floats:
    """Draws x columns: their sums over as many users, drawn with replacement."""
    users = len(columns)
    sums: Floats = np.empty((_DRAWS, columns.shape[1]))
    for one in sums:
        one[:] = np.bincount(rng.integers(users, size=users), minlength=users) @ columns
    return sums


def _groups(counts: npt.NDArray[np.int64]) -> list[Bools]:
    """Items of the head, the middle and the tail, by how often they are in the histories."""
    order = np.argsort(-counts, kind="stable")
    groups, start = [], 0
    for _, share in _SLICES:
        end = round(share * len(order))
        group = np.zeros(len(order), dtype=np.bool_)
        group[order[start:end]] = True
        groups.append(group)
        start = end
    return groups
