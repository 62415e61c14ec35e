"""Budgeted ALS as its public half sees it: one query after another, each answered by a noisy sum."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import BudgetInvalid, RatingsInvalid, SettingsInvalid
from discreet.methods.budgeted.public.activity import read_activity
from discreet.methods.budgeted.public.frame import Frame
from discreet.methods.budgeted.public.knowledge import with_knowledge
from discreet.methods.budgeted.public.offsets_share import divided
from discreet.methods.budgeted.public.plan import (
    MOST_RANK,
    Activity,
    choose_rank,
    choose_rounds,
    difficulty,
    energy_floor,
    first_share,
    items_in_use,
    round_shares,
)
from discreet.methods.budgeted.public.queries import ActivityQuery, RoundQuery, without_start
from discreet.methods.budgeted.public.round import Rules, State, first_offsets, refine, refine_offsets
from discreet.methods.budgeted.public.trial import TRIAL_SHARE, WARM_ROUNDS, heard, holds, to_try, warm
from discreet.methods.budgeted.settings import BudgetedSettings
from discreet.methods.public_half import Facts, PublicHalf, Queries
from discreet.methods.query import Trained
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.energy_scaled import Units
from discreet.types import Floats

__all__ = ["BUDGETED", "train"]

# Users' ridge in units of the mean squared residual, round by round (docs/decisions/0012-ridge-schedule.md).
_CAUTION = (20.0, 8.0, 4.0)
# Above this an average item's offset is noise of ten times a rating's own scatter.
_HOPELESS = 10.0
# Relative noise to aim at in the users' moment, and the most energy to spend on it.
_READABLE = 0.07
_MOST_MOMENT = 0.5
# Releases after the first two where there are no factors.
_ALONE = 4


def train(settings: BudgetedSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    """Activity, then offsets, then rounds of gradients; each release moves the item side."""
    if not facts.scale.explicit:
        raise RatingsInvalid(
            "budgeted predicts ratings, and here nobody gave any: the feedback is implicit. For lists of what people "
            "take use discreet.EASE (--method ease), or name the column of the ratings and their range"
        )
    n_items = facts.n_items
    _check_start(settings, facts)
    noisy = yield ActivityQuery(
        "activity: users and ratings per user",
        facts.mu * float(np.sqrt(settings.activity_share)),
        n_items,
    )
    activity = read_activity(noisy, n_items, facts.scale)
    if activity is None:
        raise BudgetInvalid(
            f"the budget ({facts.budget}) is too small to train on these ratings: the number of users does not "
            "stand out of the noise. Raise epsilon or bring more users; this run's first release has been spent"
        )
    facts.budget.check_users(max(1, int(activity.users)))
    left = facts.mu * float(np.sqrt(1.0 - settings.activity_share))
    prior = None if facts.features is None else FeaturePrior(facts.features)
    rules = Rules(activity, prior, facts.start)
    ask = _Asker(settings, facts, activity, _planned(settings))
    side, frame = _empty(facts, activity)
    share = settings.offset_share
    if share == "auto":
        share = first_share(activity, n_items, left / facts.noise_excess)
    statistics = yield ask.first(left * float(np.sqrt(share)), side, frame)
    state = first_offsets(side, frame, statistics, rules)
    used = items_in_use(state.popularity)
    if settings.rank != 0:
        _check_hope(facts, activity, used, left / facts.noise_excess)
    left *= float(np.sqrt(1.0 - share))
    hard = difficulty(activity, used, left / facts.noise_excess)
    rank, rounds = _plan(settings, facts, activity, used, left / facts.noise_excess)
    floor = energy_floor(activity, hard, left / facts.noise_excess)
    ask = replace(ask, planned=None, least_energy=floor)
    tried = settings.rank != 0 and to_try(facts.start, rank)
    if facts.start is not None and tried:
        then = warm(state, facts.start)
        statistics = yield ask.trial(left * float(np.sqrt(TRIAL_SHARE)), then)
        left *= float(np.sqrt(1.0 - TRIAL_SHARE))
        if holds(then, facts.start, statistics, activity):
            rank, state = then.side.rank, heard(then, statistics)
            rounds = WARM_ROUNDS if settings.rounds == "auto" else settings.rounds
    ask = replace(ask, planned=2 + tried + rounds)
    if rank and not state.warm:
        state = _start(rng, rank, state, prior)
    costs = [left * float(np.sqrt(part)) for part in round_shares(rounds, settings.growth)]
    kept = 0.0
    for number in range(1, len(costs) + 1):
        if number == rounds // 2 + 1:
            costs[number - 1 :], kept = divided(costs[number - 1 :], costs[number - 2], state, activity)
            ask = replace(ask, planned=2 + tried + rounds + (kept > 0.0))
        statistics = yield ask.round(number, costs[number - 1], state)
        caution = _CAUTION[-1 if state.warm else min(number, len(_CAUTION)) - 1]
        state = refine(state, statistics, rules, caution=caution, last=number == rounds)
    if kept:
        statistics = yield ask.offsets(rounds + 1, kept, state)
        state = refine_offsets(state, statistics, rules)
    side = _with_popularity(without_start(state.side, state.frame), state)
    side = with_knowledge(side, state, prior)
    return Trained(side, rounds if side.rank else 0)


def _with_popularity(side: ItemSide, state: State) -> ItemSide:
    taken = state.popularity.positive()
    return replace(side, popularity=taken / taken.sum())


def _planned(settings: BudgetedSettings) -> int | None:
    """Queries in all, where settings say."""
    if settings.rank == 0:
        return 2 + _ALONE
    if settings.rank == "auto" or settings.rounds == "auto":
        return None
    return 2 + settings.rounds


def _check_start(settings: BudgetedSettings, facts: Facts) -> None:
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


def _check_hope(facts: Facts, activity: Activity, used: float, mu: float) -> None:
    if difficulty(activity, used, mu) > _HOPELESS:
        raise BudgetInvalid(
            f"the budget ({facts.budget}) is too small to train on about {activity.users:,.0f} users "
            f"and {used:,.0f} items in use: every estimate would be noise. Raise epsilon, bring more users, or offer "
            "fewer items; the first two releases of this run have been spent"
        )


def _plan(
    settings: BudgetedSettings, facts: Facts, activity: Activity, used: float, mu: float
) -> tuple[int, int]:
    """Rank and rounds, as set or by the public rule."""
    hard = difficulty(activity, used, mu)
    rank, rounds = settings.rank, settings.rounds
    if rank == "auto":
        rank = choose_rank(activity, hard, mu, used, facts.n_items)
    if rank == 0:
        return 0, _ALONE
    return rank, choose_rounds(activity, hard, mu) if rounds == "auto" else rounds


def _empty(facts: Facts, activity: Activity) -> tuple[ItemSide, Frame]:
    """An item side that has learnt nothing, and the coordinates of its only feature."""
    frame = Frame.first(float(np.sqrt(activity.within)))
    empty = np.zeros(facts.n_items), np.zeros((facts.n_items, 0))
    rule = Ridge(activity.within / activity.between)
    return ItemSide(facts.scale, activity.centre, *empty, rule), frame


def _start(rng: np.random.Generator, rank: int, state: State, prior: FeaturePrior | None) -> State:
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


@dataclass(frozen=True)
class _Asker:
    """Words and scales of the queries after the first."""

    settings: BudgetedSettings
    facts: Facts
    activity: Activity
    planned: int | None
    least_energy: float = 0.0

    def first(self, mu: float, side: ItemSide, frame: Frame) -> RoundQuery:
        """Offsets, before anything is known of the items."""
        share = self.settings.first_weight_share
        return self._ask("offsets", mu, 0, side, frame, np.ones(self.facts.n_items), share)

    def trial(self, mu: float, state: State) -> RoundQuery:
        """The same at an earlier model's item side; not a round, as nothing has been learnt from it yet.

        It asks how far users' vectors spread. So the moment has as much energy as the gradient, and users who have
        less than usual count alike: counted by one over their energy, long vectors would hardly show.
        """
        gradient, moment = self._energies(state.frame)
        units = self._units(state.frame, mu, self.settings.weight_share)
        units = replace(units, moment=moment / float(np.sqrt(gradient)), least_energy=2.0 * gradient)
        return replace(self.round(0, mu, state), name="trial of the earlier model", units=units)

    def offsets(self, number: int, mu: float, state: State) -> RoundQuery:
        """Offsets alone, beside factors that stay as they are: the constant is the only feature."""
        weights = self._item_weights(state.popularity)
        frame = replace(state.frame, whiten=np.eye(1, 1 + state.side.rank))
        return self._ask("offsets again", mu, number, state.side, frame, weights, self.settings.weight_share)

    def round(self, number: int, mu: float, state: State) -> RoundQuery:
        """Gradients at the current fit."""
        weights = self._item_weights(state.popularity)
        name = f"round {number}" if state.side.rank else f"offsets, round {number}"
        return self._ask(name, mu, number, state.side, state.frame, weights, self.settings.weight_share)

    def _ask(
        self,
        name: str,
        mu: float,
        number: int,
        side: ItemSide,
        frame: Frame,
        weights: Floats,
        weight_share: float,
    ) -> RoundQuery:
        units = self._units(frame, mu, weight_share)
        return RoundQuery(name, mu, number, side, frame, weights, units, planned=self.planned)

    def _item_weights(self, popularity: ItemWeights) -> Floats:
        positive = popularity.positive()
        weights: Floats = (positive / positive.mean()) ** -self.settings.item_exponent
        return weights

    def _units(self, frame: Frame, mu: float, weight_share: float) -> Units:
        """Scales at which a typical user spends the set shares of energy beside the gradient.

        The moment gets more than its share where the budget is small: its relative noise is about
        order / (sqrt(share) n mu), and a step in coordinates that noise has chosen is worse than none.
        """
        order, per_user = len(frame.whiten), self.activity.ratings_per_user
        gradient, moment = self._energies(frame)
        needed = ((order + 1.0) * self.facts.noise_excess / (_READABLE * self.activity.users * mu)) ** 2
        share = min(max(self.settings.moment_share, needed), _MOST_MOMENT)
        full = self.settings.curvature == "full" and order > 1
        return Units(
            weight=float(np.sqrt(per_user * (1.0 - weight_share) / (gradient * weight_share))),
            moment=moment / float(np.sqrt(gradient * share)),
            curvature=order * float(np.sqrt(per_user / gradient)) if full else None,
            least_energy=self.least_energy * gradient,
        )

    def _energies(self, frame: Frame) -> tuple[float, float]:
        """Energy of a typical user's gradient, and size of their moment."""
        order, per_user = len(frame.whiten), self.activity.ratings_per_user
        return order * per_user * frame.residual**2, per_user * (order + 1.0)


def _numbers(settings: BudgetedSettings, n_items: int) -> int:
    order = 1 + (MOST_RANK if settings.rank == "auto" else settings.rank)
    entries = n_items * (2 * order + 4) + 2 * (order + 1) ** 2 + 256
    return entries + n_items * order**2 if settings.curvature == "full" else entries


BUDGETED = PublicHalf(
    name="budgeted",
    settings_type=BudgetedSettings,
    train=train,
    queries=(ActivityQuery, RoundQuery),
    # The rule for rank and rounds reads the first releases.
    adaptive=True,
    public=(
        "all settings; a rank or number of rounds left to the rule follows from the first releases",
        "the random start of the factors",
    ),
    uses_features=True,
    uses_start=True,
    numbers=_numbers,
)
