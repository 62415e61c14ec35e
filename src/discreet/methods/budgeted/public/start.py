"""Where the rounds start: random factors, or those of an earlier model that hold for today's users. Public.

The earlier factors are put to a trial, a small release at the earlier item side. Where they catch people's taste,
people's vectors vary by more than the chance of a few ratings makes any vectors vary, in directions that matter for the
items they take. If they do not, the run goes on with a random start, and has lost the cost of the trial.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.methods.budgeted.public import constants as fitted
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.step import State, normalised
from discreet.methods.budgeted.public.whitening import Frame, Spread, seen, spread_of
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.model.item_side import ItemSide
from discreet.model.start import Start
from discreet.privacy.gaussian.energy_scaled import RoundStatistics

__all__ = ["belief", "from_earlier", "holds", "random_start", "worth_a_trial"]


def random_start(rng: np.random.Generator, rank: int, state: State, prior: FeaturePrior | None) -> State:
    """Random factors, alike for items with like features.

    The strong ridge makes a user's first vector the projection of their residuals on them.
    """
    side, frame = state.side, state.frame
    factors = rng.standard_normal((side.n_items, rank))
    if prior is not None:
        factors = prior.alike(factors, rng)
    rule = replace(side.ridge, factor_penalty=100.0 * frame.residual**2)
    frame = Frame(np.eye(1 + rank), frame.residual, np.zeros(rank), start=True)
    return replace(state, side=replace(side, factors=factors, rule=rule), frame=frame)


def worth_a_trial(start: Start | None, rank: int) -> bool:
    """Whether an earlier model has factors to try; a budget that carries twice their rank finds more by itself."""
    if start is None or start.noise_ratio is None:
        return False
    return start.side.rank > 0 and rank < 2 * start.side.rank


def from_earlier(state: State, start: Start) -> State:
    """What the first releases told, with the earlier factors and what was known about them."""
    assert start.noise_ratio is not None
    side, factors, share = state.side, start.side.factors, state.share
    rule = replace(side.ridge, factor_penalty=start.side.ridge.factor_penalty)
    return replace(
        state,
        side=replace(side, rule=rule, factors=factors),
        # In the earlier coordinates people's true vectors were white.
        frame=Frame(np.eye(1 + start.side.rank), state.frame.residual, share @ factors**2),
        uncertainty=start.noise_ratio / max(float(share @ start.noise_ratio), 1e-300),
        warm=True,
    )


def holds(state: State, start: Start, statistics: RoundStatistics, activity: Activity) -> bool:
    """Whether to go on from the earlier factors, by the release of the trial."""
    now, order = normalised(state.frame, statistics, state.popularity), len(state.frame.whiten)
    # As released: drawn toward what is expected it would speak for the earlier model.
    moment = statistics.moment[:order, :order] / now.total
    spread = spread_of(state.frame, moment, now.usual_square, state.share)
    return belief(state.side, start, spread, activity) > fitted.STILL_HOLDS


def belief(side: ItemSide, start: Start, spread: Spread, activity: Activity) -> float:
    """Share of the taste caught by the earlier model that it still catches; between 0 and about 1.

    Parameters
    ----------
    side
        With the earlier factors, at which the trial was asked.
    start
        The earlier model.
    spread
        Of the users' vectors, as released.

    Notes
    -----
    A direction catches the mean square of its factors over what people take, times the variance of people's true
    vectors along it. The first is compared with what it was under the earlier popularity. The second is the released
    variance less that by chance, and was 1 in the earlier model's coordinates. More than then is not credited.
    """
    power = spread.share @ side.factors**2
    earlier = power
    if start.side.popularity is not None and start.side.popularity.any():
        earlier = start.side.popularity @ side.factors**2 / start.side.popularity.sum()
    shown, chance = seen(activity, power, np.full(side.rank, side.ridge.factor_penalty))
    true = (np.diag(spread.covariance) - spread.square * chance) / np.maximum(shown, 1e-3)
    caught = np.clip(true, 0.0, 1.0) * power
    return float(caught.sum() / max(float(earlier.sum()), 1e-300))
