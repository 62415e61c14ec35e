"""Membership inference against released models, private and not: who was in the training data?

The attacker has the model and a person's ratings, and compares how well the model fits them with how well models fit
them that were trained without that person, and with that person, on data of the same kind (the likelihood ratio attack
of Carlini et al., "Membership Inference Attacks From First Principles", 2022, on the loss of a whole history). This is
what an outsider can do with what is served; it is far weaker than the game, which sees every release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from discreet.data.ratings import Ratings
from discreet.data.synthetic import market
from discreet.methods.als import ALS
from discreet.methods.method import PrivateMethod
from discreet.model import Model
from discreet.privacy.budget import Budget
from discreet.types import Bools, Floats

__all__ = ["Curve", "attack", "best_curve", "membership"]

Fit = Callable[[Ratings, int], Model]

_LEAST_SPREAD = 1e-9


@dataclass(frozen=True)
class Curve:
    """How many members are recognised (``hits``) at how many false alarms; both rise from 0 to 1."""

    alarms: Floats
    hits: Floats

    def at(self, alarms: float) -> float:
        """Hits at so many false alarms."""
        return float(np.interp(alarms, self.alarms, self.hits))

    @property
    def area(self) -> float:
        """Under the curve: one half is guessing."""
        return float(np.trapezoid(self.hits, self.alarms))

    def as_json(self) -> dict[str, Any]:
        """The numbers that are read most, and the curve at some points."""
        points = [0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.2, 0.5]
        return {
            "area": self.area,
            "hits_at_1_percent": self.at(0.01),
            "hits_at_5_percent": self.at(0.05),
            "alarms": points,
            "hits": [self.at(point) for point in points],
        }


def best_curve(mu: float) -> Curve:
    """What no attacker can pass who sees every release of a run of this mu: the trade-off of two Gaussians."""
    alarms = np.concatenate([[0.0], np.logspace(-5, 0, 400)])
    return Curve(alarms, norm.sf(norm.isf(alarms) - mu))


def membership(
    method: PrivateMethod, budget: Budget, *, users: int = 1_000, models: int = 16
) -> dict[str, Curve]:
    """Attack models of ``method`` within ``budget``, and plain ALS beside it, on a synthetic market."""
    items = max(users // 5, 20)
    people = market(users, items, users * min(25, items // 5), rng=0)
    # Some half of the people are in each run, so the budget is that of a run and not of all of them.
    return {
        method.method_name(): attack(
            lambda data, seed: method.clone().fit(data, budget, rng=seed).model_, people, models
        ),
        "not private": attack(lambda data, seed: ALS().fit(data, rng=seed).model_, people, models),
    }


def attack(fit: Fit, people: Ratings, models: int, seed: int = 1) -> Curve:
    """Train models on random halves; each in turn is attacked with all others as shadows."""
    rng = np.random.default_rng(seed)
    inside: Bools = np.stack([rng.permutation(people.n_users) < people.n_users // 2 for _ in range(models)])
    losses = np.stack(
        [_losses(fit(people.take_users(row), place), people) for place, row in enumerate(inside)]
    )
    scores = np.stack([_scores(losses, inside, target) for target in range(models)])
    return _curve(scores.ravel(), inside.ravel())


def _losses(model: Model, people: Ratings) -> Floats:
    """Mean squared error of everybody's own ratings, predicted from these ratings."""
    users = np.repeat(np.arange(people.n_users), np.diff(people.indptr))
    _, predicted = model.score_pairs(people, people.indptr, people.items)
    squares = (predicted - people.values) ** 2
    counts = np.maximum(np.diff(people.indptr), 1)
    return np.asarray(np.bincount(users, squares, people.n_users) / counts)


def _scores(losses: Floats, inside: Bools, target: int) -> Floats:
    """Log likelihood ratio of the target's loss, each person's losses being Gaussian in and out of the shadows."""
    shadows = np.arange(len(losses)) != target
    rest, member = losses[shadows], inside[shadows]
    ratio = np.zeros(losses.shape[1])
    spread = np.maximum(rest.std(axis=0), _LEAST_SPREAD)
    for mask, sign in ((member, 1.0), (~member, -1.0)):
        count = mask.sum(axis=0)
        mean = np.where(mask, rest, 0.0).sum(axis=0) / np.maximum(count, 1)
        # Who was in all of the shadows or in none of them has one distribution only: no opinion.
        ratio += np.where(count > 0, sign * norm.logpdf(losses[target], mean, spread), 0.0)
    known = (member.sum(axis=0) > 0) & (~member).any(axis=0)
    return np.where(known, ratio, 0.0)


def _curve(scores: Floats, member: Bools) -> Curve:
    order = np.argsort(-scores, kind="stable")
    hits, alarms = np.cumsum(member[order]), np.cumsum(~member[order])
    last = np.concatenate([np.flatnonzero(np.diff(scores[order])), [len(scores) - 1]])
    ends = np.concatenate([[0.0], alarms[last] / alarms[-1]]), np.concatenate([[0.0], hits[last] / hits[-1]])
    return Curve(*ends)
