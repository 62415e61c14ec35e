"""How far a silo's own model goes: judged on ratings of the silo that are held out.

To leave the federated model as it is, and to train on the silo's own ratings alone, are among the candidates: what
comes out is as good as the better of the two, as far as the held-out ratings can tell. They are a tenth of all; a silo
that has few of them holds out one tenth after the other.

This looks at ratings as it likes: nothing here is private, and its numbers are for the silo alone.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from discreet.data.ratings import Ratings
from discreet.data.splits import k_fold
from discreet.evaluation.protocols import evaluate_ranking, evaluate_ratings
from discreet.methods.als import ALS
from discreet.model import Model
from discreet.model.item_side import ItemSide
from discreet.privacy.statement import Statement
from discreet.silos.own.refinement import Refinement
from discreet.types import Floats

__all__ = [
    "ALONE",
    "AT",
    "FEDERATED",
    "FEWEST",
    "Candidate",
    "Way",
    "choose",
    "fitted",
    "judge",
    "measure_of",
    "measured",
]

Way: TypeAlias = Literal["federated", "alone", "refined"]

AT = 20
"""Length of the lists that a model which ranks is judged by."""
FEWEST = 100
"""Ratings of a silo below which held-out ones say nothing."""

_FOLDS = 10
# Tenths are held out until so many ratings were predicted, or all of them.
_ENOUGH = 20_000
# Factors in all, where a silo's own ratings may tell more than the noise of a private run leaves.
_RANK, _FEWEST_EXTRA = 32, 8
_STRENGTHS = (1.0, 8.0, 64.0)
# For ratings: a way down from a strong penalty, in units of the spread of the ratings.
_DESCENT: tuple[float, ...] = (1.6, 1.1, 0.8, 0.55, 0.4, 0.27)
_ROUNDS = 3
# It ends once what is missed is above the least by this share.
_RISE = 0.01
# For lists: in units of the penalty that plain ALS takes.
_LIST_STRENGTHS = (1.0, 8.0)
_LIST_DESCENT: tuple[float, ...] = (1.0, 0.3)
_LIST_ROUNDS = 4


@dataclass(frozen=True)
class Candidate:
    """One way to a silo's own model; the numbers are those of :class:`~discreet.silos.own.refinement.Refinement`.

    ``steps``: how far down the penalties go, where the model is refined.
    """

    way: Way
    extra: int = 0
    strength: float = 0.0
    steps: int = 0


FEDERATED, ALONE = Candidate("federated"), Candidate("alone")


def measure_of(model: Model) -> str:
    """What a model is judged by."""
    return "rmse" if model.goal == "rate" else f"recall@{AT}"


def judge(
    model: Model, ratings: Ratings, rng: np.random.Generator, report: Callable[[int, int], None]
) -> dict[Candidate, Floats]:
    """What every candidate misses of each part that is held out; the parts are the same for all."""
    folds = min(_FOLDS, math.ceil(_ENOUGH * _FOLDS / ratings.n_ratings))
    found: dict[Candidate, list[float]] = defaultdict(list)
    for done, (kept, held_out) in enumerate(itertools.islice(k_fold(ratings, _FOLDS, rng), folds)):
        report(done, folds)
        for candidate, loss in _losses(model, kept, held_out, int(rng.integers(2**62))):
            found[candidate].append(loss)
    report(folds, folds)
    # A way down that was broken off in one part is not compared with those that were not.
    return {candidate: np.array(losses) for candidate, losses in found.items() if len(losses) == folds}


def choose(found: Mapping[Candidate, Floats]) -> tuple[Candidate, Candidate]:
    """The candidate to take, and the best of the refined ones.

    That one is the best of many, which a few ratings may have picked by chance: it must be better than federated and
    alone by more than the standard error of the difference, where there is more than one part to tell it from.
    """
    simple = min((FEDERATED, ALONE), key=lambda one: found[one].mean())
    refined = min((one for one in found if one.way == "refined"), key=lambda one: found[one].mean())
    gains = found[simple] - found[refined]
    doubt = gains.std(ddof=1) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return (refined if gains.mean() > doubt else simple), refined


def measured(model: Model, losses: Floats) -> float:
    """The measure of :func:`measure_of` over all parts, which are of one size."""
    loss = float(losses.mean())
    return math.sqrt(loss) if model.goal == "rate" else 1.0 - loss


def fitted(candidate: Candidate, model: Model, ratings: Ratings, seed: int) -> ItemSide:
    """The item side that a candidate comes to on all ratings of the silo."""
    if candidate.way == "federated":
        return model.item_side
    if candidate.way == "alone":
        return _alone(model, ratings, seed)
    *_, (_, side) = itertools.islice(
        _path(model, ratings, candidate.extra, candidate.strength, seed), candidate.steps
    )
    return side


def _losses(model: Model, kept: Ratings, held_out: Ratings, seed: int) -> Iterator[tuple[Candidate, float]]:
    """What every candidate misses of what is held out; a way down ends where it gets worse."""

    def loss(side: ItemSide) -> float:
        return _loss(_with_side(model, side), kept, held_out)

    yield FEDERATED, loss(model.item_side)
    yield ALONE, loss(_alone(model, kept, seed))
    rates = model.goal == "rate"
    extras = (0, max(_RANK - model.item_side.rank, _FEWEST_EXTRA)) if rates else (0,)
    for extra, strength in itertools.product(extras, _STRENGTHS if rates else _LIST_STRENGTHS):
        least = math.inf
        for steps, side in _path(model, kept, extra, strength, seed):
            found = loss(side)
            yield Candidate("refined", extra, strength, steps), found
            least = min(least, found)
            if found > (1.0 + _RISE) * least:
                break


def _path(
    model: Model, ratings: Ratings, extra: int, strength: float, seed: int
) -> Iterator[tuple[int, ItemSide]]:
    """Refined item sides on the way down from a strong penalty."""
    descent: tuple[float, ...]
    if model.goal == "rate":
        unit, gravity, descent, rounds = float(ratings.values.std()) or 1.0, 0.0, _DESCENT, _ROUNDS
    else:
        # What plain ALS takes does not depend on how long it trains.
        rule = ALS(goal="rank", rank=1, rounds=1).fit(ratings, rng=0).model_.item_side.clicks
        unit, gravity, descent, rounds = rule.factor_penalty, rule.gravity, _LIST_DESCENT, _LIST_ROUNDS
    fit = Refinement(
        model.item_side,
        ratings,
        extra=extra,
        strength=strength,
        gravity=gravity,
        rng=np.random.default_rng(seed),
    )
    for steps, penalty in enumerate(descent, 1):
        for _ in range(rounds):
            fit.round(unit * penalty)
        yield steps, fit.item_side(unit * penalty)


def _alone(model: Model, ratings: Ratings, seed: int) -> ItemSide:
    return ALS(goal=model.goal).fit(ratings, rng=seed).model_.item_side


def _with_side(model: Model, side: ItemSide) -> Model:
    return replace(model, item_side=side, statement=Statement.not_private("being judged on held-out ratings"))


def _loss(model: Model, kept: Ratings, held_out: Ratings) -> float:
    """Mean squared error, or what is missing from lists."""
    if model.goal == "rate":
        return evaluate_ratings(model, kept, held_out).rmse ** 2
    return 1.0 - evaluate_ranking(model, kept, held_out, AT).recall
