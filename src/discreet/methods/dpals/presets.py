"""The DPALS paper's own settings (its table 4, one preset a column), and what their noise costs.

Counts and deltas are the published ones (table 2; delta 1e-5 for the rating tasks and 1/n for MovieLens 20M). The
authors' code divides the users' penalty by the mean of all users' exact counts over ratings, in which a user counts as
often as they rate; a public constant stands in its place here (``typical_ratings``). It is the mean over users that
table 2 and the split imply, times what the other mean is larger by on MovieLens 1M (decision 43).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.errors import SettingsInvalid
from discreet.privacy.accounting import compose, epsilon_from, epsilon_renyi

__all__ = ["PRESETS", "Accounting", "NoisePlan", "Preset", "find_preset"]


@dataclass(frozen=True)
class NoisePlan:
    """Standard deviations of all of a DPALS run's noise, in units of what one user can change at most in one item.

    Parameters
    ----------
    rounds, max_ratings
        T and k.
    sigma_matrix, sigma_vector
        Of the per-item matrix and vector in every round.
    sigma_moment
        Of the moment over all users (gravity) in every round; ``None`` without gravity.
    sigma_counts
        sigma_p, of the pre-processing; ``None`` without any.
    counts, mean
        How many times item counts are released, and whether the mean is.
    mu_start
        Cost of a spectral start.
    """

    rounds: int
    max_ratings: int
    sigma_matrix: float
    sigma_vector: float
    sigma_moment: float | None = None
    sigma_counts: float | None = None
    counts: int = 0
    mean: bool = False
    mu_start: float = 0.0

    @property
    def mu_counts(self) -> float:
        """Cost of one release of item counts: sqrt(k) over sigma_p."""
        assert self.sigma_counts is not None
        return math.sqrt(self.max_ratings) / self.sigma_counts

    @property
    def mu_mean(self) -> float:
        """Cost of the mean with the paper's noise: its sum and its count each move by k, not sqrt(k)."""
        assert self.sigma_counts is not None
        return math.sqrt(2.0 * self.max_ratings) / self.sigma_counts

    @property
    def mu(self) -> float:
        """What the whole run owes."""
        square = self.rounds * self._round_square(moment=True) + self.mu_start**2
        if self.counts:
            square += self.counts * self.mu_counts**2
        if self.mean:
            square += self.mu_mean**2
        return math.sqrt(square)

    @property
    def mu_as_in_the_paper(self) -> float:
        """What the paper would have counted: no gravity, (2k + 2) / sigma_p^2 for all pre-processing."""
        return math.sqrt(self.rounds * self._round_square(moment=False) + self._published_counts())

    @property
    def mu_of_theorem_1(self) -> float:
        """What theorem 1 says as it is printed: one Gaussian a round, although two are released."""
        square = self.rounds * self.max_ratings / self.sigma_matrix**2
        return math.sqrt(square + self._published_counts())

    def _round_square(self, *, moment: bool) -> float:
        square = self.max_ratings * (1.0 / self.sigma_matrix**2 + 1.0 / self.sigma_vector**2)
        if moment and self.sigma_moment is not None:
            square += 1.0 / self.sigma_moment**2
        return square

    def _published_counts(self) -> float:
        return 0.0 if self.sigma_counts is None else (2.0 * self.max_ratings + 2.0) / self.sigma_counts**2


@dataclass(frozen=True)
class Accounting:
    """One noise plan under four ways of counting, as epsilon at one delta."""

    delta: float
    theorem_1: float
    paper: float
    owed_renyi: float
    owed: float

    @classmethod
    def of(
        cls, plan: NoisePlan, delta: float, *, spent_mu: float = 0.0, spent_delta: float = 0.0
    ) -> Accounting:
        """Count a plan; what is owed includes what was spent before it (on finding a catalogue, say)."""
        owed = compose([plan.mu, spent_mu])
        return cls(
            delta,
            epsilon_renyi(plan.mu_of_theorem_1, delta),
            epsilon_renyi(plan.mu_as_in_the_paper, delta),
            epsilon_renyi(owed, delta - spent_delta) if spent_delta < delta else math.inf,
            epsilon_from(owed, delta, spent_delta),
        )


@dataclass(frozen=True)
class Preset:
    """One column of table 4.

    Parameters
    ----------
    epsilon
        What the column's heading claims.
    delta
        Of the task.
    settings
        For :class:`discreet.DPALS`.
    """

    name: str
    epsilon: float
    delta: float
    settings: dict[str, Any]

    @property
    def plan(self) -> NoisePlan:
        """The column's noise, with what it releases counted whole."""
        settings = self.settings
        implicit = settings["gravity"] > 0.0
        return NoisePlan(
            settings["rounds"],
            settings["max_ratings"],
            settings["sigma_matrix"],
            settings["sigma_vector"],
            settings["sigma_matrix"] if implicit else None,
            settings["sigma_counts"],
            counts=2,
            mean=not implicit,
        )

    @property
    def accounting(self) -> Accounting:
        """What the column costs, counted four ways."""
        return Accounting.of(self.plan, self.delta)


def find_preset(name: str) -> Preset:
    """The preset of that name, or an error that lists all names."""
    try:
        return PRESETS[name]
    except (KeyError, TypeError):
        raise SettingsInvalid(f"there is no preset {name!r}; known are {', '.join(PRESETS)}") from None


def _columns() -> dict[str, Preset]:
    # Mean over users, times (mean over ratings / mean over users) on MovieLens 1M: its 400 most rated films, and all.
    # Clicks have user exponent 0, so nothing reads theirs.
    top, whole = ("ml-10m-top400", 1e-5, 63.0 * 1.82), ("ml-10m", 1e-5, 114.0 * 2.36)
    clicks = ("ml-20m", 1.0 / 136_677, 73.0)
    # task, epsilon, r, lambda, lambda_0, mu, nu, T, k, sigma_G, sigma_g, beta, sigma_p
    table = [
        (top, 0.8, 50, 90.0, 0.0, 0.5, 1.0, 2, 40, 126.9, 63.4, 1.0, 200.0),
        (top, 4.0, 50, 90.0, 0.0, 0.5, 1.0, 2, 50, 29.0, 14.5, 1.0, 200.0),
        (top, 8.0, 50, 80.0, 0.0, 0.5, 1.0, 2, 50, 11.3, 11.3, 1.0, 20.0),
        (top, 16.0, 50, 80.0, 0.0, 0.5, 1.0, 2, 50, 5.86, 5.86, 1.0, 20.0),
        (whole, 1.0, 32, 120.0, 0.0, 0.5, 1.0, 2, 50, 125.9, 63.0, 0.05, 100.0),
        (whole, 5.0, 128, 80.0, 0.0, 0.5, 1.0, 2, 50, 27.8, 13.9, 0.4, 20.0),
        (whole, 10.0, 128, 70.0, 0.0, 0.5, 1.0, 2, 50, 15.5, 7.7, 0.5, 10.0),
        (whole, 20.0, 128, 60.0, 0.0, 0.5, 1.0, 2, 50, 7.5, 3.8, 0.6, 10.0),
        (clicks, 1.0, 32, 0.5, 2.0, 0.0, 0.0, 1, 60, 64.0, 64.0, 0.05, 100.0),
        (clicks, 5.0, 32, 0.5, 0.6, 0.0, 0.0, 3, 60, 20.2, 20.2, 0.1, 100.0),
        (clicks, 10.0, 32, 0.1, 0.4, 0.0, 0.0, 3, 100, 14.0, 14.0, 0.05, 100.0),
        (clicks, 20.0, 128, 50.0, 0.4, 0.0, 0.0, 1, 60, 3.5, 3.5, 0.05, 100.0),
    ]
    names = [
        *("rank", "penalty", "gravity", "item_exponent", "user_exponent", "rounds", "max_ratings"),
        *("sigma_matrix", "sigma_vector", "frequent_share", "sigma_counts"),
    ]
    presets = {}
    for (task, delta, typical), epsilon, *values in table:
        name = f"{task}-eps-{epsilon:g}"
        settings = dict(zip(names, values, strict=True)) | {"typical_ratings": typical}
        presets[name] = Preset(name, epsilon, delta, settings)
    return presets


PRESETS = _columns()
"""All columns of table 4 by name, such as ``ml-10m-eps-1``."""
