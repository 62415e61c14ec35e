"""Private methods on one task, the published ones equally tuned, ours not at all, beside ALS without privacy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings
from discreet.methods.budgeted.private.contributions import BudgetedALS
from discreet.methods.method import PrivateMethod
from discreet.methods.published.private.dpals import DPALS
from discreet.methods.published.private.frank_wolfe import FrankWolfe
from discreet.methods.published.private.projected_gradient import ProjectedGradient
from discreet.methods.published.private.svd import PrivateSVD
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.budget import Budget
from reproduction.central.yardstick import NOT_PRIVATE, yardstick
from reproduction.context import Context
from reproduction.result import Column, Finding, Table, columns_of
from reproduction.scoring import Draws, gets_no_worse, repeat, score, yardstick_holds
from reproduction.tuning import Draw, Space, choice, log_uniform, search

OURS = "budgeted ALS (ours)"


@dataclass(frozen=True)
class Rival:
    """A published method with what is tried for it."""

    method: Callable[..., PrivateMethod]
    space: Space
    fixed: Mapping[str, Any] = field(default_factory=dict)
    first: Sequence[Mapping[str, Any]] = ()

    def make(self, **settings: Any) -> PrivateMethod:
        """The method with these settings."""
        return self.method(**{**self.fixed, **settings})


@dataclass(frozen=True)
class Entry:
    """One method at one epsilon."""

    method: str
    epsilon: float
    value: Draws
    settings: Mapping[str, Any]


Entries = Sequence[tuple[Mapping[str, Any], Entry]]
"""Each with its place: the number of users, or nothing."""


@dataclass
class Contest:
    """One task."""

    context: Context
    train: Ratings
    valid: Ratings
    test: Ratings
    delta: float
    trials: int
    draws: int

    @property
    def label(self) -> str:
        """What must be said beside the numbers."""
        return (
            f"Settings of every published method are chosen at each epsilon on a validation split by {self.trials} "
            f"trials; the search is not charged. {OURS[0].upper() + OURS[1:]} runs with its defaults and is not tuned; "
            f"ALS without privacy chooses its settings from the data. Mean and standard deviation over "
            f"{self.draws} noise draws."
        )

    def enter(self, name: str, rival: Rival, epsilon: float) -> Entry:
        """Tune a rival at one epsilon and score it on the test."""
        budget = Budget(epsilon, self.delta)
        found = search(
            rival.make,
            rival.space,
            self.trials,
            lambda method: self._score(method, budget, 0, self.valid),
            self.context.rng("trials", name),
            first=rival.first,
            lower_is_better=self.train.explicit,
        )
        return Entry(
            name, epsilon, self._repeat(lambda: rival.make(**found.settings), budget), found.settings
        )

    def enter_ours(self, epsilon: float) -> Entry:
        """The default method with its defaults."""
        return Entry(OURS, epsilon, self._repeat(BudgetedALS, Budget(epsilon, self.delta)), {})

    def yardstick(self) -> Draws:
        """ALS without privacy."""
        return yardstick(self.context, self.train, (self.train, self.test), self.draws)

    def _repeat(self, make: Any, budget: Budget) -> Draws:
        return repeat(lambda draw: self._score(make(), budget, draw, self.test), range(self.draws))

    def _score(self, method: PrivateMethod, budget: Budget, draw: int, on: Ratings) -> float:
        fitted = method.fit(self.train, budget, rng=self.context.seed_for("start", draw))
        return score(fitted.model_, self.train, on)


def checks(entries: Entries, yardsticks: Mapping[str, Draws]) -> list[Finding]:
    """What every contest is asked of itself; yardsticks are by place, as `place_of` calls it."""
    lines: dict[str, dict[float, Draws]] = {}
    for extra, entry in entries:
        if entry.method == OURS:
            lines.setdefault(place_of(extra) or OURS, {})[entry.epsilon] = entry.value
    private = {
        (place_of(extra), f"{entry.method} at epsilon {entry.epsilon:g}"): entry.value
        for extra, entry in entries
    }
    return [yardstick_holds(yardsticks, private), gets_no_worse(lines)]


def place_of(extra: Mapping[str, Any]) -> str:
    """A place in words: ``5,000 users``."""
    return ", ".join(f"{value:,} {name}" for name, value in extra.items())


def table(
    title: str, entries: Entries, yardsticks: Mapping[str, Draws] | None = None, key: str = ""
) -> Table:
    """All entries, each with the ratio of our error to its own at the same place; ``extra`` are further columns."""
    ours = {(tuple(extra.items()), e.epsilon): e.value.mean for extra, e in entries if e.method == OURS}
    names = list(entries[0][0])
    rows = [
        {
            **extra,
            "method": entry.method,
            "epsilon": entry.epsilon,
            **entry.value.cells("RMSE"),
            "ours / this": ours[tuple(extra.items()), entry.epsilon] / entry.value.mean,
            "settings": ", ".join(f"{name} {short(value)}" for name, value in entry.settings.items())
            or "defaults",
        }
        for extra, entry in entries
    ]
    places = {place_of(extra): extra for extra, _ in entries}
    rows += [
        {
            **places[place],
            "method": NOT_PRIVATE,
            **one.cells("RMSE"),
            "settings": "defaults",
        }
        for place, one in (yardsticks or {}).items()
    ]
    columns = (
        *(Column(name) for name in names),
        *columns_of("method | epsilon | RMSE .4 | spread .4 | ours / this [ratio of errors] .3 | settings"),
    )
    return Table(title, columns, rows, key=key, shown=80)


def ahead(entries: Entries) -> tuple[float, float, list[str]]:
    """Smallest and largest ratio of our error to a rival's, and where a rival is ahead."""
    ours = {(tuple(extra.items()), e.epsilon): e.value.mean for extra, e in entries if e.method == OURS}
    ratios, behind = [], []
    for extra, entry in entries:
        if entry.method == OURS:
            continue
        ratio = ours[tuple(extra.items()), entry.epsilon] / entry.value.mean
        ratios.append(ratio)
        if ratio > 1.0:
            place = " ".join(str(value) for value in extra.values())
            behind.append(f"{entry.method} {place} epsilon {entry.epsilon:g}".replace("  ", " "))
    return min(ratios), max(ratios), behind


def short(value: Any) -> str:
    """A setting as it stands in a table."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def frank_wolfe_as_published(*, entry: float, max_ratings: int, **settings: Any) -> FrankWolfe:
    """Every step is taken, and a row's bound is the worst case: the root of k times a bound on one rating."""
    return FrankWolfe(**settings, **_worst_case(entry, max_ratings))


class FrankWolfeNoise(FrankWolfe):
    """With the noise of Jain, Thakkar and Thakurta (2018), algorithm 1.

    There each of T steps gets noise of scale ``L^2 sqrt(64 T ln(1/delta)) / epsilon`` above the diagonal and its
    mirror image below. That is the noise of a run of mu = epsilon / sqrt(64 ln(1/delta)); ours, drawn on the whole
    matrix and symmetrised, is smaller off the diagonal by sqrt(2) at the same mu, so mu is divided by that too.
    """

    def fit(self, ratings: AnyRatings, budget: Budget, **options: Any) -> Self:
        """Spend as little of the budget as the paper's constants leave."""
        mu = budget.epsilon / math.sqrt(128.0 * math.log(1.0 / budget.delta))
        return super().fit(ratings, Budget(epsilon_from(mu, budget.delta), budget.delta), **options)


def noise_as_published(*, entry: float, max_ratings: int, **settings: Any) -> FrankWolfe:
    """As published in its noise as well."""
    return FrankWolfeNoise(**settings, **_worst_case(entry, max_ratings))


def _worst_case(entry: float, max_ratings: int) -> dict[str, Any]:
    return {
        "max_ratings": max_ratings,
        "typical_ratings": max_ratings,
        "row_clip": entry * max_ratings**0.5,
        "skip_noise": False,
    }


def dpals(rank: Draw, most: Draw, entry: Draw, **fixed: Any) -> Rival:
    """DPALS: algorithm 1, and what of algorithm 2 the fixed settings ask for."""
    space = {
        "rank": rank,
        "max_ratings": most,
        "entry_clip": entry,
        "rounds": choice((1, 2, 3, 4)),
        "penalty": log_uniform(0.3, 100.0),
        "row_clip": choice((0.1, 0.3, 1.0)),
        "noise_ratio": choice((1.0, 2.0)),
    }
    return Rival(DPALS, space, fixed)


def weighted_dpals(rank: Draw, most: Draw, entry: Draw, **fixed: Any) -> Rival:
    """DPALS with the item weights of "Multi-Task Differential Privacy Under Distribution Skew"."""
    rival = dpals(rank, most, entry, **{**fixed, "sampling": "weights"})
    return Rival(DPALS, {**rival.space, "weight_exponent": choice((0.0, 0.25, 0.5))}, rival.fixed)


def frank_wolfe(most: Draw, entry: Draw, **fixed: Any) -> Rival:
    """Joint-DP Frank-Wolfe as the poster has it."""
    space = {
        "max_ratings": most,
        "entry": entry,
        "rounds": choice((1, 2, 5, 10)),
        "nuclear_scale": log_uniform(0.5, 30.0),
    }
    return Rival(frank_wolfe_as_published, space, fixed)


def frank_wolfe_noise_as_published(most: Draw, entry: Draw, **fixed: Any) -> Rival:
    """The same with the noise that its paper's constants ask for."""
    rival = frank_wolfe(most, entry, **fixed)
    return Rival(noise_as_published, rival.space, rival.fixed)


def svd(most: Draw, bound: Draw, **fixed: Any) -> Rival:
    """SVD after cleansing (McSherry and Mironov), at the level of users."""
    space = {
        "penalty": log_uniform(0.003, 10.0),
        "max_ratings": most,
        "row_clip": bound,
        "rank": choice((1, 2, 4, 8)),
        "mean_share": choice((0.2, 0.4, 0.7)),
        "user_stabiliser": choice((1.0, 5.0)),
        "offset_penalty": log_uniform(0.3, 10.0),
    }
    return Rival(PrivateSVD, space, fixed)


def projected_gradient(most: Draw, bound: Draw, **fixed: Any) -> Rival:
    """Projected gradient under a nuclear-norm bound."""
    space = {
        "max_ratings": most,
        "row_clip": bound,
        "rank": choice((1, 2, 4, 8)),
        "rounds": choice((1, 2, 4)),
        "shrinkage": log_uniform(0.01, 0.5),
    }
    return Rival(ProjectedGradient, space, fixed)
