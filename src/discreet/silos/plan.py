"""Is training together worth it? Answered on made-up ratings, before anybody pays.

A synthetic market is dealt out to silos of given sizes. Every way to train (alone, alone with privacy, together) makes
a model of it, and all models are judged by the same newcomers, who are in no silo: they show most of their ratings, and
the rest is predicted or looked for. What silos train together is bit for bit what central training makes of the same
noise, so it is trained centrally here, with the noise of all silos (:mod:`discreet.privacy.gaussian.shares`).

The market is one kind of market, and its silos have users of one kind. Where silos differ, or data are easier or harder
than this, the numbers move; which of the ways is better moves less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet.catalogue import Goal
from discreet.data.splits import held_out_users
from discreet.data.synthetic import market
from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.evaluation import evaluate_ranking, evaluate_ratings, metrics
from discreet.methods.als import ALS
from discreet.methods.ease.estimator import EASE
from discreet.methods.registry import default_method
from discreet.model import Model
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.shares import RehearsalNoise

__all__ = ["AT", "NEWCOMERS", "Federation", "Row", "default_honest", "gains", "measure_of", "plan"]

AT = 20
"""Length of the lists, where the goal is to rank."""

NEWCOMERS = 2_000
"""Who are judged by."""

# People take what suits them, where lists are the goal: otherwise the same list for everybody would be as good.
_LIFT = {"rank": 1.5, "rate": 0.4}

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Federation:
    """Who would train together, and on what: users of each silo, and how many of them are honest at least."""

    sizes: tuple[int, ...]
    items: int = 2_000
    ratings_per_user: int = 30
    goal: Goal = "rank"
    honest: int | None = None

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) < 2:
            raise SettingsInvalid("a plan needs at least two silos, each with at least two users")
        if self.honest is not None and not 1 <= self.honest <= len(self.sizes):
            raise SettingsInvalid(
                f"{self.honest} of {len(self.sizes)} silos cannot be honest; say between 1 and {len(self.sizes)}"
            )

    @property
    def agreed(self) -> int:
        """How many silos must be honest, as given or by default."""
        return default_honest(len(self.sizes)) if self.honest is None else self.honest

    def ways(self) -> Iterator[tuple[int, int]]:
        """Numbers of silos that train together and of honest ones: of fewer silos, then of all."""
        count = len(self.sizes)
        for fewer in sorted({2, (count + 1) // 2} - {count, 1}):
            yield fewer, default_honest(fewer)
        for honest in sorted({1, self.agreed, count}):
            yield count, honest


class Row(NamedTuple):
    """One way to train, and how good it was for newcomers.

    ``score`` is the mean over draws, ``None`` where the budget is too small for so few users; ``honest`` is ``None``
    where nobody trains together. Of fewer silos than there are, the first ones train.
    """

    training: Literal["free", "popularity", "alone", "together"]
    private: bool
    silos: int
    users: int
    honest: int | None
    score: float | None


def default_honest(silos: int) -> int:
    """More than half, as in an agreement that does not say."""
    return silos // 2 + 1


def measure_of(goal: Goal) -> str:
    """What models are judged by."""
    return "rmse" if goal == "rate" else f"recall@{AT}"


def plan(
    federation: Federation,
    budget: Budget,
    *,
    draws: int = 2,
    rng: int | None = None,
    progress: Progress | None = None,
) -> list[Row]:
    """Rehearse every way to train on a synthetic market, each private one so many times with fresh noise."""
    sizes, rehearsal = federation.sizes, _Rehearsal(federation, budget, draws, rng)
    tasks: list[tuple[str, Callable[[], Row]]] = []
    for size in sorted(set(sizes)):
        tasks.append(("alone, not private", partial(rehearsal.plain, size)))
        tasks.append(("alone, private", partial(rehearsal.private, "alone", 1, size, None)))
    tasks.sort(key=lambda task: task[0])
    for silos, honest in federation.ways():
        together = partial(rehearsal.private, "together", silos, sum(sizes[:silos]), honest)
        tasks.append(("together", together))
    rows = [rehearsal.baseline()]
    for done, (stage, train) in enumerate(tasks):
        if progress is not None:
            progress(stage, done, len(tasks))
        rows.append(train())
    return rows


def gains(federation: Federation, rows: list[Row]) -> list[dict[str, Any]]:
    """What each size of silo gains over its own model, in per cent of that; above 0 is better."""
    scores = {row[:-1]: row.score for row in rows}
    everybody = len(federation.sizes), sum(federation.sizes), federation.agreed
    together = scores["together", True, *everybody]
    found: list[dict[str, Any]] = []
    for size in sorted(set(federation.sizes)):
        gain: dict[str, Any] = {"users": size}
        for name, private in (("alone", False), ("alone_private", True)):
            own = scores["alone", private, 1, size, None]
            if own is None or together is None:
                gain[f"gain_over_{name}"] = None
            else:
                better = own - together if federation.goal == "rate" else together - own
                gain[f"gain_over_{name}"] = round(100.0 * better / own, 2)
        found.append(gain)
    return found


class _Rehearsal:
    """The market, dealt out, and the newcomers."""

    def __init__(self, federation: Federation, budget: Budget, draws: int, rng: int | None) -> None:
        self._federation, self._budget, self._draws = federation, budget, draws
        self._rates = federation.goal == "rate"
        users = sum(federation.sizes) + NEWCOMERS
        rows, lift = users * federation.ratings_per_user, _LIFT[federation.goal]
        ratings = market(users, federation.items, rows, rng=rng, lift=lift)
        self._silos, self._shown, self._hidden = held_out_users(ratings, NEWCOMERS / users, rng=rng)

    def baseline(self) -> Row:
        shown, hidden = self._shown, self._hidden
        if self._rates:
            means = metrics.user_means(shown, metrics.global_mean(shown))
            error = metrics.rmse(np.repeat(means, np.diff(hidden.indptr)), hidden.values)
            return Row("free", True, 0, 0, None, error)
        lists = metrics.popularity_ranking(self._silos, shown, shown.n_items, AT)
        recall = metrics.recall_at_k(lists, hidden.indptr, hidden.items, AT)
        return Row("popularity", False, len(self._federation.sizes), self._silos.n_users, None, recall)

    def plain(self, size: int) -> Row:
        """The same without noise; for predicted ratings plain ALS."""
        fitted = (ALS() if self._rates else EASE()).fit(self._silos.take_users(slice(0, size)), rng=0)
        return Row("alone", False, 1, size, None, self._score(fitted.model_))

    def private(self, way: Literal["alone", "together"], silos: int, users: int, honest: int | None) -> Row:
        ratings, scores = self._silos.take_users(slice(0, users)), []
        for draw in range(self._draws):
            method, noise = default_method(self._federation.goal)(), RehearsalNoise(silos, honest or 1)
            try:
                fitted = method.fit(ratings, self._budget, rng=draw, noise=noise)
            except BudgetInvalid:
                return Row(way, True, silos, users, honest, None)
            scores.append(self._score(fitted.model_))
        return Row(way, True, silos, users, honest, float(np.mean(scores)))

    def _score(self, model: Model) -> float:
        if self._rates:
            return evaluate_ratings(model, self._shown, self._hidden).rmse
        return evaluate_ranking(model, self._shown, self._hidden, AT).recall
