"""What is run over silos: each of epsilon, number of prototypes and latent dimension varies, one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CENTRAL, ALONE = "central NMF (not private)", "silo alone, NMF"
ALS_CENTRAL, BEST_OPEN = "central ALS (not private)", "best without privacy (ALS or means)"
TUNED = "prototypes, the paper's, tuned"
K_MEANS, RANDOM = "k-means (not private)", "random users (not private)"
FEDERATED, FIXED, POOLED = "federated ALS", "federated ALS, rank l", "central private ALS"


@dataclass(frozen=True)
class Point:
    """One method at one setting; what it has none of is None."""

    method: str
    k: int | None = None
    rank: int | None = None
    epsilon: float | None = None
    penalty: float | None = None


@dataclass(frozen=True)
class Design:
    """All points around a centre.

    Parameters
    ----------
    epsilons, ks, ranks
        What is tried: budgets, prototypes of a silo, and l, the latent dimension.
    epsilon, k, rank
        The centres.
    k_epsilons
        At which epsilons k varies.
    prototypes
        Settings of each private way to make prototypes, by its name.
    penalty, printed
        The lambda of all factorisations; and the paper's, run at the centre, where it is another.
    draws, rounds
        Of each private run; and passes of every factorisation without privacy.
    rank_epsilon
        Where federated ALS is run at each l as well; None: only at the rank of its own rule.
    pooled
        Whether private ALS with all data in one place is run too.
    tuned
        Which way to make prototypes is tuned as well, k, l and lambda, at each epsilon; None: none of them.
    trials
        For it at each epsilon, and for ALS without privacy, which is held against the means besides.
    """

    epsilons: Sequence[float]
    ks: Sequence[int]
    ranks: Sequence[int]
    epsilon: float
    k: int
    rank: int
    k_epsilons: Sequence[float]
    prototypes: Mapping[str, Mapping[str, Any]]
    penalty: float = 0.1
    printed: float | None = None
    draws: int = 2
    rounds: int = 10
    rank_epsilon: float | None = None
    pooled: bool = True
    tuned: str | None = None
    trials: int = 3

    def points(self) -> list[Point]:
        """Everything to run, each once."""
        found = self._not_private()
        for name in self.prototypes:
            found += [Point(name, self.k, self.rank, e, self.penalty) for e in self.epsilons]
            found += [Point(name, k, self.rank, e, self.penalty) for k in self.ks for e in self.k_epsilons]
            found += [Point(name, self.k, rank, self.epsilon, self.penalty) for rank in self.ranks]
            if self.printed is not None:
                found.append(Point(name, self.k, self.rank, self.epsilon, self.printed))
        tuned = () if self.tuned is None else (TUNED,)
        for name in (FEDERATED, *((POOLED,) if self.pooled else ()), *tuned):
            found += [Point(name, epsilon=e) for e in self.epsilons]
        if self.rank_epsilon is not None:
            found += [Point(FIXED, rank=rank, epsilon=self.rank_epsilon) for rank in self.ranks]
        return list(dict.fromkeys(found))

    def _not_private(self) -> list[Point]:
        found = [
            Point(name, rank=rank, penalty=self.penalty) for name in (CENTRAL, ALONE) for rank in self.ranks
        ]
        if self.printed is not None:
            found += [Point(name, rank=self.rank, penalty=self.printed) for name in (CENTRAL, ALONE)]
        found += [Point(ALS_CENTRAL, rank=rank) for rank in self.ranks]
        found.append(Point(BEST_OPEN))
        for name in (K_MEANS, RANDOM):
            found += [Point(name, k, self.rank, None, self.penalty) for k in self.ks]
            found += [Point(name, self.k, rank, None, self.penalty) for rank in self.ranks]
        return found
