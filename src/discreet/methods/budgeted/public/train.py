"""Budgeted ALS as its public half sees it: one query after another, each answered by a noisy sum."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.errors import BudgetInvalid, RatingsInvalid, SettingsInvalid
from discreet.methods.budgeted.public import constants as fitted
from discreet.methods.budgeted.public.constants import BudgetedSettings
from discreet.methods.budgeted.public.items import finished
from discreet.methods.budgeted.public.plan import (
    MOST_RANK,
    Activity,
    choose_rank,
    items_in_use,
    least_energy,
    noise_ratio,
    read_activity,
    round_shares,
)
from discreet.methods.budgeted.public.queries import ActivityQuery, Asker, RoundQuery, without_start
from discreet.methods.budgeted.public.start import (
    from_earlier,
    holds,
    random_start,
    worth_a_trial,
)
from discreet.methods.budgeted.public.step import Rules, first_offsets, refine
from discreet.methods.budgeted.public.whitening import Frame
from discreet.methods.public.half import Facts, PublicHalf, Queries
from discreet.methods.public.query import Trained
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide

__all__ = ["BUDGETED", "train"]

# A refusal, nothing fitted: above this an average item's offset is noise of ten times a rating's own scatter.
_HOPELESS = 10.0
# Releases after the first two where there are no factors.
_ALONE = 4


def train(settings: BudgetedSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    """Activity, then offsets, then rounds of gradients; each release moves the item side."""
    _check(settings, facts)
    n_items, left = facts.n_items, facts.mu**2
    mu = math.sqrt(settings.activity_share * left)
    noisy = yield ActivityQuery("activity: users and ratings per user", mu, n_items)
    activity = read_activity(noisy, n_items, facts.scale)
    if activity is None:
        raise BudgetInvalid(
            f"the budget ({facts.budget}) is too small to train on these ratings: the number of users does not "
            "stand out of the noise. Raise epsilon or bring more users; this run's first release has been spent"
        )
    facts.budget.check_users(max(1, int(activity.users)))
    left *= 1.0 - settings.activity_share

    prior = None if facts.features is None else FeaturePrior(facts.features)
    rules = Rules(activity, prior, facts.start)
    ask = Asker(settings, facts, activity, _planned(settings))
    side, frame = _empty(facts, activity)
    statistics = yield ask.first(math.sqrt(settings.offset_share * left), side, frame)
    state = first_offsets(side, frame, statistics, rules)
    used = items_in_use(state.popularity)
    _check_hope(settings, facts, activity, used, math.sqrt(left) / facts.noise_excess)
    left *= 1.0 - settings.offset_share

    rank, mu, usual = settings.rank, math.sqrt(left) / facts.noise_excess, fitted.ROUNDS
    if rank == "auto":
        rank = choose_rank(activity, used, n_items, mu)
    ask = replace(ask, planned=None, least_energy=least_energy(activity, used, mu))
    tried = settings.rank != 0 and worth_a_trial(facts.start, rank)
    if facts.start is not None and tried:
        then = from_earlier(state, facts.start)
        statistics = yield ask.trial(math.sqrt(fitted.TRIAL_SHARE * left), then)
        left *= 1.0 - fitted.TRIAL_SHARE
        if holds(then, facts.start, statistics, activity):
            state, usual = then.with_weights(statistics), fitted.WARM_ROUNDS
    if state.warm:
        rank = state.side.rank
    elif rank:
        state = random_start(rng, rank, state, prior)
    rounds = _ALONE if rank == 0 else usual if settings.rounds == "auto" else settings.rounds
    ask = replace(ask, planned=2 + tried + rounds)
    for number, part in enumerate(round_shares(rounds, settings.growth), 1):
        statistics = yield ask.round(number, math.sqrt(part * left), state)
        ridge = fitted.INITIAL_RIDGES[-1 if state.warm else min(number, len(fitted.INITIAL_RIDGES)) - 1]
        last = number == rounds
        state = refine(state, statistics, rules, ridge=fitted.LAST_RIDGE if last else ridge, last=last)
    side = finished(without_start(state.side, state.frame), state, prior, facts.start)
    return Trained(side, rounds if side.rank else 0)


def _planned(settings: BudgetedSettings) -> int | None:
    """Queries in all, where settings say."""
    if settings.rank == 0:
        return 2 + _ALONE
    if settings.rank == "auto" or settings.rounds == "auto":
        return None
    return 2 + settings.rounds


def _check(settings: BudgetedSettings, facts: Facts) -> None:
    if not facts.scale.explicit:
        raise RatingsInvalid(
            "budgeted predicts ratings, and here nobody gave any: the feedback is implicit. For lists of what people "
            "take use discreet.EASE (--method ease), or name the column of the ratings and their range"
        )
    if facts.start is None:
        return
    side = facts.start.side
    if side.scale != facts.scale:
        raise SettingsInvalid(
            f"the model to start from predicts {side.scale}, and these are {facts.scale}; start from a model of the "
            "same rating range"
        )
    if settings.rank not in ("auto", 0, side.rank) and side.rank:
        raise SettingsInvalid(
            f"the model to start from has rank {side.rank}, and {settings.rank} was asked for; leave the rank out"
        )


def _check_hope(settings: BudgetedSettings, facts: Facts, activity: Activity, used: float, mu: float) -> None:
    if settings.rank != 0 and noise_ratio(activity, used, mu) > _HOPELESS:
        raise BudgetInvalid(
            f"the budget ({facts.budget}) is too small to train on about {activity.users:,.0f} users "
            f"and {used:,.0f} items in use: every estimate would be noise. Raise epsilon, bring more users, or offer "
            "fewer items; the first two releases of this run have been spent"
        )


def _empty(facts: Facts, activity: Activity) -> tuple[ItemSide, Frame]:
    """An item side that has learnt nothing, and the coordinates of its only feature."""
    empty = np.zeros(facts.n_items), np.zeros((facts.n_items, 0))
    side = ItemSide(facts.scale, activity.centre, *empty, Ridge(activity.within / activity.between))
    return side, Frame.first(math.sqrt(activity.within))


def _numbers(settings: BudgetedSettings, n_items: int) -> int:
    order = 1 + (MOST_RANK if settings.rank == "auto" else settings.rank)
    return n_items * (2 * order + 4) + 2 * (order + 1) ** 2 + 256


BUDGETED = PublicHalf(
    name="budgeted",
    settings_type=BudgetedSettings,
    train=train,
    queries=(ActivityQuery, RoundQuery),
    # The rule for the rank reads the first releases.
    adaptive=True,
    public=(
        "all settings; a rank or number of rounds left to the rule follows from the first releases",
        "the random start of the factors",
    ),
    uses_features=True,
    uses_start=True,
    numbers=_numbers,
)
