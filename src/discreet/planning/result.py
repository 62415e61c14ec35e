"""A plan: what was found on the made-up markets, as numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from discreet.planning.sizes import Sizes

__all__ = ["AT", "Outcome", "Plan"]

AT = 20
"""Length of the lists, where the goal is to rank."""


@dataclass(frozen=True)
class Outcome:
    """A way to predict, and its score in each market; ``None`` where the budget was too small to train with."""

    name: str
    epsilon: float | None
    scores: tuple[float | None, ...]

    @property
    def known(self) -> list[float]:
        """Scores of the markets that could be trained on."""
        return [score for score in self.scores if score is not None]

    @property
    def mean(self) -> float | None:
        """Over the markets; ``None`` where one of them could not be trained on."""
        return fmean(self.known) if len(self.known) == len(self.scores) else None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        known = self.known if self.mean is not None else []
        return {
            "name": self.name,
            "epsilon": self.epsilon,
            "mean": self.mean,
            "lowest": min(known, default=None),
            "highest": max(known, default=None),
            "markets": list(self.scores),
        }


@dataclass(frozen=True)
class Plan:
    """Expected quality against epsilon.

    Parameters
    ----------
    sizes, delta
        What was asked.
    simulated_users
        In each made-up market.
    markets
        What they are called.
    baselines
        Without a model: user mean and global mean, or popularity.
    not_private, private
        Models, the private ones by rising epsilon.
    seconds
        That it took.
    """

    sizes: Sizes
    delta: float
    simulated_users: int
    markets: tuple[str, ...]
    baselines: tuple[Outcome, ...]
    not_private: Outcome
    private: tuple[Outcome, ...]
    seconds: float

    @property
    def measure(self) -> str:
        """What models are judged by."""
        return "rmse" if self.sizes.goal == "rate" else f"recall@{AT}"

    @property
    def baseline(self) -> Outcome:
        """The best that is to be had without learning about tastes."""
        return self.baselines[-1]

    def gain(self, outcome: Outcome) -> float | None:
        """Which share of the way from the baseline to the model without privacy was gone, over all markets."""
        if outcome.mean is None or outcome.mean == self.baseline.mean:
            return None if outcome.mean is None else 0.0
        assert self.baseline.mean is not None
        assert self.not_private.mean is not None
        way = self.not_private.mean - self.baseline.mean
        return (outcome.mean - self.baseline.mean) / way if self.worth else None

    @property
    def worth(self) -> bool:
        """Whether a model without privacy is better than the baseline at all."""
        return self.better(self.not_private) == len(self.markets)

    def better(self, outcome: Outcome) -> int:
        """In how many markets a way is better than the baseline."""
        sign = -1.0 if self.sizes.goal == "rate" else 1.0
        pairs = zip(outcome.scores, self.baseline.scores, strict=True)
        return sum(
            one is not None and other is not None and sign * (one - other) > 0.0 for one, other in pairs
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        sizes = asdict(self.sizes)
        sizes["rating_range"] = None if self.sizes.rating_range is None else list(self.sizes.rating_range)
        return {
            **sizes,
            "delta": self.delta,
            "measure": self.measure,
            "simulated": {
                "users": self.simulated_users,
                "noise_divided_by": self.sizes.users / self.simulated_users,
                "markets": list(self.markets),
            },
            "baselines": [one.to_dict() for one in self.baselines],
            "not_private": self.not_private.to_dict(),
            "private": [{**one.to_dict(), "gain": self.gain(one)} for one in self.private],
            "seconds": round(self.seconds, 3),
        }
