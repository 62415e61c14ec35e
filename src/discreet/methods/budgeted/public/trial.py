"""Whether the factors of an earlier model hold for today's users. Public: sees releases only.

The trial is a small release at the earlier item side. Where the factors catch people's taste, people's vectors vary by
more than the chance of a few ratings makes any vectors vary, in directions that matter for the items they take. If they
do not, the run goes on with a random start, and has lost the cost of the trial.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.methods.budgeted.public.chance import chance_covariance
from discreet.methods.budgeted.public.frame import Frame
from discreet.methods.budgeted.public.gauge import Spread, seen, spread_of
from discreet.methods.budgeted.public.gravity import first_gravity
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.round import Rules, State, normalised, with_gravity
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide
from discreet.model.start import Start
from discreet.privacy.gaussian.energy_scaled import RoundStatistics
from discreet.types import Floats

__all__ = ["TRIAL_SHARE", "WARM_ROUNDS", "belief", "holds", "to_try", "warm"]

TRIAL_SHARE = 0.05
"""Of what is left of mu^2 after the first releases."""
WARM_ROUNDS = {True: 1, False: 2}
"""Rounds from factors that hold, for clicks and for ratings: directions need not be found again."""
# Share of the taste that the earlier model caught which it must still catch. Unrelated starts had at most 0.06, those
# of the same market 0.3 to 0.75 (docs/decisions/0049-start.md).
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


def warm(state: State, start: Start, rules: Rules) -> State:
    """What the first releases told, with the earlier factors and what was known about them."""
    assert start.doubt is not None
    side, share = state.side, _shares(state)
    if isinstance(side.rule, Clicks):
        side = _with_earlier_scores(side, start, rules)
    else:
        side = replace(side, rule=replace(side.ridge, factor_penalty=start.side.ridge.factor_penalty))
    side = replace(side, factors=start.side.factors)
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
    caught = belief(state.side, start, spread, activity, now.weight / now.total)
    return caught > _HOLDS


def belief(side: ItemSide, start: Start, spread: Spread, activity: Activity, taken: Floats) -> float:
    """Share of the taste caught by the earlier model that it still catches; between 0 and about 1.

    Parameters
    ----------
    side
        With the earlier factors, at which the trial was asked.
    start
        The earlier model.
    spread
        Of the users' vectors, as released.
    taken
        Released share of the users who took each item.

    Notes
    -----
    A direction catches the mean square of its factors over what people take, times the variance of people's true
    vectors along it. The first is compared with what it was under the earlier popularity. The second is the released
    variance less that by chance, and was 1 in the earlier model's coordinates for ratings; for clicks it is compared
    with the earlier users' variance, which the earlier model's coordinates tell. More than then is not credited.
    """
    power = spread.share @ side.factors**2
    earlier = power
    if start.side.popularity is not None and start.side.popularity.any():
        earlier = start.side.popularity @ side.factors**2 / start.side.popularity.sum()
    variance = np.diag(spread.covariance)
    if isinstance(side.rule, Clicks):
        # The second moment of the earlier users' (1, u).
        before = np.linalg.inv(start.metric)
        mean = before[0, 1:] / before[0, 0]
        usual = np.maximum(np.diag(before)[1:] / before[0, 0] - mean**2, 1e-300)
        true = (variance - np.diag(chance_covariance(side, taken))) / usual
    else:
        usual = np.ones(side.rank)
        shown, chance = seen(activity, power, np.full(side.rank, side.ridge.factor_penalty))
        true = (variance - spread.square * chance) / np.maximum(shown, 1e-3)
    caught = np.clip(true, 0.0, 1.0) * power * usual
    return float(caught.sum() / max(float((earlier * usual).sum()), 1e-300))


def _shares(state: State) -> Floats:
    taken = state.popularity.positive()
    share: Floats = taken / taken.sum()
    return share


def _with_earlier_scores(side: ItemSide, start: Start, rules: Rules) -> ItemSide:
    """Earlier offsets, moved by what popularity alone says has changed; and the earlier gravity, likewise."""
    earlier = start.side.popularity
    if earlier is None or not (told := start.known & (earlier > 0.0)).any():
        return side
    taken = side.clicks.gravity * side.offsets / (1.0 - side.offsets)
    before = earlier * float(taken[told].sum() / earlier[told].sum())
    then = start.side.clicks.gravity
    if rules.free_gravity:
        side = with_gravity(side, min(side.clicks.gravity * then / first_gravity(before[told]), 1.0))
    plain = taken / (taken + side.clicks.gravity)
    moved = start.side.offsets + plain - before / (before + then)
    return replace(side, offsets=np.where(told, moved, plain))
