"""What DPALS' noise costs, counted four ways, and the noise that its paper used: table 4 of 002, one preset a column.

Golden numbers: the columns for ML-10M give 1.001, 5.008, 10.041 and 19.824 as the paper counts. So its authors counted
both Gaussians of a step, although theorem 1 (000, section 3.3) has one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet.errors import SettingsInvalid
from discreet.privacy.accounting import compose, epsilon_from, epsilon_renyi

__all__ = ["PRESETS", "Accounting", "NoisePlan", "Preset", "find_preset"]


@dataclass(frozen=True)
class NoisePlan:
    """Standard deviations of a run's noise, in units of what one user can change at most in one item.

    T and k; sigma_G, sigma_g and that of K (``None`` without gravity) of every round; sigma_p of the pre-processing
    (``None`` without any), how often item counts are released and whether the mean is; and a spectral start's cost.
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
        return math.sqrt(2.0) * self.mu_counts

    @property
    def mu(self) -> float:
        """What the whole run owes: mu^2 = T (k / sigma_G^2 + k / sigma_g^2 + 1 / sigma_K^2) + pre-processing."""
        moment = 0.0 if self.sigma_moment is None else 1.0 / self.sigma_moment**2
        square = self.rounds * (self._both + moment) + self.mu_start**2
        if self.counts:
            square += self.counts * self.mu_counts**2
        if self.mean:
            square += self.mu_mean**2
        return math.sqrt(square)

    @property
    def mu_as_in_the_paper(self) -> float:
        """What the paper would have counted: no K, (2 k + 2) / sigma_p^2 for all pre-processing (002, section C)."""
        return math.sqrt(self.rounds * self._both + self._published_counts)

    @property
    def mu_of_theorem_1(self) -> float:
        """What theorem 1 says as it is printed: one Gaussian a round, although two are released."""
        return math.sqrt(self.rounds * self.max_ratings / self.sigma_matrix**2 + self._published_counts)

    @property
    def _both(self) -> float:
        return self.max_ratings * (1.0 / self.sigma_matrix**2 + 1.0 / self.sigma_vector**2)

    @property
    def _published_counts(self) -> float:
        return 0.0 if self.sigma_counts is None else (2.0 * self.max_ratings + 2.0) / self.sigma_counts**2

    def accounting(self, delta: float, *, spent_mu: float = 0.0, spent_delta: float = 0.0) -> Accounting:
        """Count it; what is owed includes what was spent before it (on finding a catalogue, say)."""
        owed = compose([self.mu, spent_mu])
        return Accounting(
            delta,
            epsilon_renyi(self.mu_of_theorem_1, delta),
            epsilon_renyi(self.mu_as_in_the_paper, delta),
            epsilon_renyi(owed, delta - spent_delta) if spent_delta < delta else math.inf,
            epsilon_from(owed, delta, spent_delta),
        )


@dataclass(frozen=True)
class Accounting:
    """One noise plan under four ways of counting, as epsilon at one delta."""

    delta: float
    theorem_1: float
    paper: float
    owed_renyi: float
    owed: float


@dataclass(frozen=True)
class Preset:
    """One column of table 4: what its heading claims, the task's delta, and settings for :class:`discreet.DPALS`."""

    name: str
    epsilon: float
    delta: float
    settings: dict[str, Any]

    @property
    def plan(self) -> NoisePlan:
        """The column's noise, with what it releases counted whole."""
        rounds, k, matrix, vector, counts = (
            self.settings[name]
            for name in ("rounds", "max_ratings", "sigma_matrix", "sigma_vector", "sigma_counts")
        )
        clicks = self.settings["gravity"] > 0.0
        return NoisePlan(rounds, k, matrix, vector, matrix if clicks else None, counts, 2, mean=not clicks)

    @property
    def accounting(self) -> Accounting:
        """What the column costs, counted four ways."""
        return self.plan.accounting(self.delta)


def find_preset(name: str) -> Preset:
    """The preset of that name, or an error that lists all names."""
    try:
        return PRESETS[name]
    except (KeyError, TypeError):
        raise SettingsInvalid(f"there is no preset {name!r}; known are {', '.join(PRESETS)}") from None


# Task, delta (table 2; 1 / n for clicks), and a public constant in the place of Z: the mean over users
# that table 2 and the split imply, times what the mean over ratings is larger by on MovieLens 1M. Clicks read none.
_TASKS = (
    ("ml-10m-top400", 1e-5, 63.0 * 1.82),
    ("ml-10m", 1e-5, 114.0 * 2.36),
    ("ml-20m", 1.0 / 136_677, 73.0),
)
# Table 4, row by row, four columns a task: epsilon, r, lambda, lambda_0, mu, nu, T, k, sigma_G, sigma_g, beta, sigma_p.
_EPSILONS = (0.8, 4.0, 8.0, 16.0, 1.0, 5.0, 10.0, 20.0, 1.0, 5.0, 10.0, 20.0)
_ROWS: dict[str, tuple[float, ...]] = {
    "rank": (50, 50, 50, 50, 32, 128, 128, 128, 32, 32, 32, 128),
    "penalty": (90.0, 90.0, 80.0, 80.0, 120.0, 80.0, 70.0, 60.0, 0.5, 0.5, 0.1, 50.0),
    "gravity": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.6, 0.4, 0.4),
    "item_exponent": (0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0),
    "user_exponent": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    "rounds": (2, 2, 2, 2, 2, 2, 2, 2, 1, 3, 3, 1),
    "max_ratings": (40, 50, 50, 50, 50, 50, 50, 50, 60, 60, 100, 60),
    "sigma_matrix": (126.9, 29.0, 11.3, 5.86, 125.9, 27.8, 15.5, 7.5, 64.0, 20.2, 14.0, 3.5),
    "sigma_vector": (63.4, 14.5, 11.3, 5.86, 63.0, 13.9, 7.7, 3.8, 64.0, 20.2, 14.0, 3.5),
    "frequent_share": (1.0, 1.0, 1.0, 1.0, 0.05, 0.4, 0.5, 0.6, 0.05, 0.1, 0.05, 0.05),
    "sigma_counts": (200.0, 200.0, 20.0, 20.0, 100.0, 20.0, 10.0, 10.0, 100.0, 100.0, 100.0, 100.0),
}


def _columns() -> Iterator[Preset]:
    for number, epsilon in enumerate(_EPSILONS):
        task, delta, typical = _TASKS[number // 4]
        settings: dict[str, Any] = {name: values[number] for name, values in _ROWS.items()}
        yield Preset(f"{task}-eps-{epsilon:g}", epsilon, delta, settings | {"typical_ratings": typical})


PRESETS = {preset.name: preset for preset in _columns()}
"""All columns of table 4 by name, such as ``ml-10m-eps-1``."""
