"""Whether the factors of an earlier model hold for today's users. Public: sees releases only.

The trial is a small release at the earlier item side. Where the factors catch people's taste, people's vectors vary by
more than the chance of a few ratings makes any vectors vary, in directions that matter for the items they take. If they
do not, the run goes on with a random start, and has lost the cost of the trial.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.methods.budgeted.public.frame import Frame
from discreet.methods.budgeted.public.gauge import Spread, seen, spread_of
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.round import State, normalised
from discreet.model.item_side import ItemSide
from discreet.model.start import Start
from discreet.privacy.gaussian.energy_scaled import RoundStatistics
from discreet.types import Floats

__all__ = ["TRIAL_SHARE", "WARM_ROUNDS", "belief", "heard", "holds", "to_try", "warm"]

TRIAL_SHARE = 0.03
"""Of what is left of mu^2 after the first releases."""
WARM_ROUNDS = 2
"""Rounds from factors that hold: directions need not be found again."""
# Share of the taste that the earlier model caught which it must still catch. Of unrelated starts it was at most 0.12,
# of the same market 0.16 at least (decision 108).
_HOLDS = 0.15
# A budget that carries this many times the earlier rank finds more by itself.
_OUTGROWN = 2.0


def to_try(start: Start | None, rank: int) -> bool:
    """Whether an earlier model has factors to put to a trial, where the rule would choose ``rank``."""
    return (
        start is not None
        and start.doubt is not None
        and start.side.rank > 0
        and rank < _OUTGROWN * start.side.rank
    )


def warm(state: State, start: Start) -> State:
    """What the first releases told, with the earlier factors and what was known about them."""
    assert start.doubt is not None
    side, share = state.side, _shares(state)
    rule = replace(side.ridge, factor_penalty=start.side.ridge.factor_penalty)
    side = replace(side, rule=rule, factors=start.side.factors)
    # The earlier frame was the inverse root of the users' second moment.
    values, basis = np.linalg.eigh(start.metric)
    whiten = (basis * np.sqrt(np.maximum(values, 1e-12))) @ basis.T
    variances = start.variances
    usual = max(float(share @ variances), 1e-300)
    return replace(
        state,
        side=side,
        frame=Frame(whiten, state.frame.residual, share @ side.factors**2),
        doubt=variances / usual,
        warm=True,
    )


def holds(state: State, start: Start, statistics: RoundStatistics, activity: Activity) -> bool:
    """Whether to go on from the earlier factors, by the release of the trial."""
    assert start.doubt is not None
    now, order = normalised(state.frame, statistics, state.popularity), len(state.frame.whiten)
    # As released: drawn toward what is expected it would speak for the earlier model.
    moment = statistics.moment[:order, :order] / now.total
    spread = spread_of(state.frame, moment, now.usual_square, _shares(state))
    return belief(state.side, start, spread, activity) > _HOLDS


def heard(state: State, statistics: RoundStatistics) -> State:
    """With what the trial told beside: popularity."""
    updated = state.popularity.updated(statistics.weight, statistics.weight_sigma)
    return replace(state, popularity=updated)


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
    variance = np.diag(spread.covariance)
    shown, chance = seen(activity, power, np.full(side.rank, side.ridge.factor_penalty))
    true = (variance - spread.square * chance) / np.maximum(shown, 1e-3)
    caught = np.clip(true, 0.0, 1.0) * power
    return float(caught.sum() / max(float(earlier.sum()), 1e-300))


def _shares(state: State) -> Floats:
    taken = state.popularity.positive()
    share: Floats = taken / taken.sum()
    return share
