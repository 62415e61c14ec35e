"""Where each share of epsilon goes. The table is public and fixed before any rating is read."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.methods.prototypes.settings import PrototypeSettings

__all__ = ["ShareTable"]

# So that rounding in the sum of the shares never passes epsilon.
_LEAVE = 1.0 - 1e-13


@dataclass(frozen=True)
class ShareTable:
    """Epsilon of every release, and how often a run makes it; 0 for what a run does not need.

    Attributes
    ----------
    count, choice
        Once a run.
    level, swap, support, values, sizes
        Once each level of each trial, each step (and the choice among them) of each trial, and each trial.
    """

    count: float
    level: float
    swap: float
    support: float
    values: float
    sizes: float
    choice: float
    levels: int
    steps: int
    trials: int

    @classmethod
    def of(cls, settings: PrototypeSettings, n_items: int, epsilon: float) -> ShareTable:
        """Split `epsilon`; parts that are not needed go to the others in proportion."""
        trials, levels = settings.n_trials(), settings.n_levels()
        # One more than the steps: the choice among what they found.
        steps = settings.n_swaps() + 1
        used = settings.shares.model_dump()
        if trials == 1:
            del used["choice"]
        if settings.n_support(n_items) == n_items:
            del used["support"]
        whole = sum(used.values())
        part = {name: epsilon * _LEAVE * share / whole for name, share in used.items()}
        return cls(
            count=part["count"],
            level=part["partition"] / (trials * levels),
            swap=part["centres"] / (trials * steps),
            support=part.get("support", 0.0) / trials,
            values=part["values"] / trials,
            sizes=part["sizes"] / trials,
            choice=part.get("choice", 0.0),
            levels=levels,
            steps=steps,
            trials=trials,
        )

    def rows(self) -> list[tuple[str, float, int]]:
        """Name of each release, its epsilon, and how often it is made."""
        rows = [
            ("silo count", self.count, 1),
            ("partition level", self.level, self.trials * self.levels),
            ("centre swap", self.swap, self.trials * self.steps),
            ("support", self.support, self.trials),
            ("values", self.values, self.trials),
            ("sizes", self.sizes, self.trials),
            ("choice among trials", self.choice, 1),
        ]
        return [row for row in rows if row[1] > 0.0]

    def total(self) -> float:
        """What all of it costs together."""
        return sum(epsilon * times for _, epsilon, times in self.rows())
