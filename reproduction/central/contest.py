"""Private methods on one task, the published ones equally tuned, ours not at all, beside ALS without privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.estimator import BudgetedALS
from discreet.methods.method import PrivateMethod
from discreet.privacy.budget import Budget
from reproduction.central.yardstick import NOT_PRIVATE, Yardstick, tune_yardstick
from reproduction.checks import gets_no_worse, yardstick_holds
from reproduction.context import Context
from reproduction.result import Column, Finding, Table, columns_of
from reproduction.scoring import Draws, score
from reproduction.tuning import Space, search

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
    place: str = ""

    @property
    def label(self) -> str:
        """What must be said beside the numbers."""
        return (
            f"Settings of every published method are chosen at each epsilon on a validation split by {self.trials} "
            f"trials; the search is not charged. {OURS[0].upper() + OURS[1:]} runs with its defaults and is not tuned; "
            f"ALS without privacy is tuned by {self.trials} trials as well. Mean and standard deviation over "
            f"{self.draws} noise draws."
        )

    def enter(self, name: str, rival: Rival, epsilon: float) -> Entry:
        """Tune a rival at one epsilon and score it on the test."""
        budget = Budget(epsilon, self.delta)

        def compute() -> dict[str, Any]:
            found = search(
                rival.make,
                rival.space,
                self.trials,
                lambda method: self._score(method, budget, 0, self.valid),
                self.context.rng("trials", name),
                first=rival.first,
                lower_is_better=self.train.explicit,
            )
            values = self._repeat(lambda: rival.make(**found.settings), budget)
            return {"settings": found.settings, "values": values}

        kept = self.context.once("entry", self.place, name, epsilon, compute=compute)
        return Entry(name, epsilon, Draws(tuple(kept["values"])), kept["settings"])

    def enter_ours(self, epsilon: float) -> Entry:
        """The default method with its defaults."""
        budget = Budget(epsilon, self.delta)
        values = self.context.once(
            "entry", self.place, OURS, epsilon, compute=lambda: self._repeat(BudgetedALS, budget)
        )
        return Entry(OURS, epsilon, Draws(tuple(values)), {})

    def yardstick(self, space: Space, first: Sequence[Mapping[str, Any]] = ()) -> Yardstick:
        """ALS without privacy, tuned by as many trials as every rival."""
        return tune_yardstick(
            self.context,
            self.place,
            self.train,
            (self.train, self.valid),
            (self.train, self.test),
            space=space,
            trials=self.trials,
            draws=self.draws,
            first=first,
        )

    def _repeat(self, make: Any, budget: Budget) -> list[float]:
        return [self._score(make(), budget, draw, self.test) for draw in range(self.draws)]

    def _score(self, method: PrivateMethod, budget: Budget, draw: int, on: Ratings) -> float:
        fitted = method.fit(self.train, budget, rng=self.context.seed_for("start", draw))
        return score(fitted.model_, self.train, on)


def checks(entries: Entries, yardsticks: Mapping[str, Yardstick]) -> list[Finding]:
    """What every contest is asked of itself; yardsticks are by place, as `place_of` calls it."""
    lines: dict[str, dict[float, Draws]] = {}
    for extra, entry in entries:
        if entry.method == OURS:
            lines.setdefault(place_of(extra) or OURS, {})[entry.epsilon] = entry.value
    private = {
        (place_of(extra), f"{entry.method} at epsilon {entry.epsilon:g}"): entry.value
        for extra, entry in entries
    }
    levels = {place: one.value for place, one in yardsticks.items()}
    return [yardstick_holds(levels, private), gets_no_worse(lines)]


def place_of(extra: Mapping[str, Any]) -> str:
    """A place in words: ``5,000 users``."""
    return ", ".join(f"{value:,} {name}" for name, value in extra.items())


def table(
    title: str, entries: Entries, yardsticks: Mapping[str, Yardstick] | None = None, key: str = ""
) -> Table:
    """All entries, each with the ratio of our error to its own at the same place; ``extra`` are further columns."""
    ours = {(tuple(extra.items()), e.epsilon): e.value.mean for extra, e in entries if e.method == OURS}
    names = list(entries[0][0])
    rows = [
        {
            **extra,
            "method": entry.method,
            "epsilon": entry.epsilon,
            "RMSE": entry.value.mean,
            "spread": entry.value.spread,
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
            "RMSE": one.value.mean,
            "spread": one.value.spread,
            "settings": ", ".join(f"{name} {short(value)}" for name, value in one.settings.items()),
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
