"""Budgeted ALS as its public half sees it: one question after another, each answered by a noisy sum."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.catalogue import CLICKS
from discreet.errors import BudgetInvalid
from discreet.methods.budgeted.public.activity import read_activity
from discreet.methods.budgeted.public.plan import (
    MOST_RANK,
    Activity,
    Plan,
    choose_rank,
    choose_rounds,
    difficulty,
)
from discreet.methods.budgeted.public.questions import ActivityQuestion, RoundQuestion, without_start
from discreet.methods.budgeted.public.round import Frame, first_offsets, first_popularity, refine
from discreet.methods.budgeted.settings import BudgetedSettings
from discreet.methods.public_half import Facts, PublicHalf, Questions
from discreet.methods.question import Trained
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.energy_scaled import RoundStatistics, Units
from discreet.types import Floats

__all__ = ["BUDGETED", "train"]

# Users' ridge in units of the mean squared residual, round by round (docs/decisions/0012-ridge-schedule.md).
_CAUTION = (20.0, 8.0, 3.0)
# Above this an average item's offset is noise of ten times a rating's own scatter.
_HOPELESS = 10.0
# Relative noise to aim at in the users' moment, and the most energy to spend on it.
_READABLE = 0.07
_MOST_MOMENT = 0.5
# Clicks have no residual to weigh against: their release is the item weights and hardly anything else.
_CLICK_WEIGHT_SHARE = 0.99
# Users' ridge for clicks, in units of the gravity.
_CLICK_PENALTY = 0.1


def train(settings: BudgetedSettings, facts: Facts, rng: np.random.Generator) -> Questions:
    """Activity, then offsets (or popularity), then rounds of gradients; each release moves the item side."""
    ranks, n_items = settings.ranks(facts.scale), facts.n_items
    noisy = yield ActivityQuestion(
        "activity: users and ratings per user",
        facts.mu * float(np.sqrt(settings.activity_share)),
        n_items,
        explicit=not ranks,
    )
    activity = read_activity(noisy, n_items, CLICKS if ranks else facts.scale)
    if activity is None:
        raise BudgetInvalid(
            f"the budget ({facts.budget}) is too small to train on these ratings: the number of users does not "
            "stand out of the noise. Raise epsilon or bring more users; this run's first release has been spent"
        )
    left = facts.mu * float(np.sqrt(1.0 - settings.activity_share))
    plan = _make_plan(settings, facts, activity, left / facts.noise_excess)
    costs = [left * float(np.sqrt(share)) for share in plan.shares]
    ask = _Asker(settings, facts, activity, len(costs) + 1)
    side, frame = _empty(settings, facts, activity)
    statistics = yield ask.first(costs[0], side, frame)
    side, frame, popularity = _after_first(plan, rng, side, frame, statistics, activity)
    for number, cost in enumerate(costs[1:], 1):
        statistics = yield ask.round(number, cost, side, frame, popularity)
        caution = _CAUTION[min(number, len(_CAUTION)) - 1]
        side, frame, popularity = refine(
            side, frame, statistics, popularity, ratings=activity.ratings, caution=caution
        )
    return Trained(without_start(side, frame), plan.rounds)


def _make_plan(settings: BudgetedSettings, facts: Facts, activity: Activity, mu: float) -> Plan:
    """Rank, rounds and shares: as set, or by the public rule."""
    facts.budget.check_users(max(1, int(activity.users)))
    if difficulty(activity, facts.n_items, mu) > _HOPELESS:
        raise BudgetInvalid(
            f"the budget ({facts.budget}) is too small to train on about {activity.users:,.0f} users "
            f"and {facts.n_items:,} items: every estimate would be noise. Raise epsilon, bring more users, or offer "
            "fewer items; the first release of this run has been spent"
        )
    explicit = not settings.ranks(facts.scale)
    rank, rounds, first = settings.rank, settings.rounds, settings.offset_share
    if rank == "auto":
        rank = choose_rank(activity, facts.n_items, mu, explicit=explicit)
    if rounds == "auto":
        rounds = choose_rounds(explicit=explicit)
    if first == "auto":
        first = 0.2 if explicit else 0.1
    return Plan.make(rank, rounds, first, settings.growth)


def _empty(settings: BudgetedSettings, facts: Facts, activity: Activity) -> tuple[ItemSide, Frame]:
    """An item side that has learnt nothing, and the coordinates of its only feature."""
    frame = Frame(np.eye(1), float(np.sqrt(activity.within)), activity.ratings_per_user)
    empty = np.zeros(facts.n_items), np.zeros((facts.n_items, 0))
    scale = facts.scale
    if not settings.ranks(scale):
        return ItemSide(scale, scale.middle, *empty, Ridge(activity.within / activity.between)), frame
    usual = min(1.0, 20.0 * activity.ratings_per_user / facts.n_items)
    gravity = usual if settings.gravity == "auto" else settings.gravity
    penalty = _CLICK_PENALTY * gravity if settings.penalty == "auto" else settings.penalty
    return ItemSide(scale, 0.0, *empty, Clicks(gravity, penalty)), frame


def _after_first(
    plan: Plan,
    rng: np.random.Generator,
    side: ItemSide,
    frame: Frame,
    statistics: RoundStatistics,
    activity: Activity,
) -> tuple[ItemSide, Frame, ItemWeights]:
    """Offsets and popularity, and a random start of the factors if there will be any."""
    if isinstance(side.rule, Ridge):
        side, popularity, residual = first_offsets(side, frame, statistics, activity.ratings)
        frame = replace(frame, residual=residual)
    else:
        side, popularity = first_popularity(side, statistics)
    if plan.rounds:
        side, frame = _start(rng, plan.rank, side, frame)
    return side, frame, popularity


def _start(rng: np.random.Generator, rank: int, side: ItemSide, frame: Frame) -> tuple[ItemSide, Frame]:
    """Random factors. The strong ridge makes a user's first vector the projection of their residuals on them."""
    factors = rng.standard_normal((side.n_items, rank))
    if isinstance(side.rule, Ridge):
        side = replace(side, rule=replace(side.ridge, factor_penalty=100.0 * frame.residual**2))
    else:
        factors *= np.sqrt(side.offsets * side.offsets.mean())[:, None]
    return replace(side, factors=factors), replace(frame, whiten=np.eye(1 + rank), start=True)


@dataclass(frozen=True)
class _Asker:
    """Words and scales of the questions after the first."""

    settings: BudgetedSettings
    facts: Facts
    activity: Activity
    planned: int

    def first(self, mu: float, side: ItemSide, frame: Frame) -> RoundQuestion:
        """Offsets of ratings, popularity of clicks."""
        ranks = isinstance(side.rule, Clicks)
        name, share = (
            ("popularity", _CLICK_WEIGHT_SHARE) if ranks else ("offsets", self.settings.first_weight_share)
        )
        return self._ask(name, mu, 0, side, frame, np.ones(self.facts.n_items), share)

    def round(
        self, number: int, mu: float, side: ItemSide, frame: Frame, popularity: ItemWeights
    ) -> RoundQuestion:
        """Gradients at the current fit."""
        weights = self._item_weights(popularity)
        return self._ask(f"round {number}", mu, number, side, frame, weights, self.settings.weight_share)

    def _ask(
        self,
        name: str,
        mu: float,
        number: int,
        side: ItemSide,
        frame: Frame,
        weights: Floats,
        weight_share: float,
    ) -> RoundQuestion:
        units = self._units(frame, mu, weight_share)
        return RoundQuestion(name, mu, number, side, frame, weights, units, planned=self.planned)

    def _item_weights(self, popularity: ItemWeights) -> Floats:
        exponent = self.settings.item_exponent
        if exponent == "auto":
            exponent = 0.0 if self.settings.ranks(self.facts.scale) else 0.25
        positive = popularity.positive()
        weights: Floats = (positive / positive.mean()) ** -exponent
        return weights

    def _units(self, frame: Frame, mu: float, weight_share: float) -> Units:
        """Scales at which a typical user spends the set shares of energy beside the gradient.

        The moment gets more than its share where the budget is small: its relative noise is about
        order / (sqrt(share) n mu), and a step in coordinates that noise has chosen is worse than none.
        """
        order, per_user = len(frame.whiten), self.activity.ratings_per_user
        gradient = order * per_user * frame.residual**2
        moment = (1.0 if self.settings.ranks(self.facts.scale) else per_user) * (order + 1.0)
        needed = ((order + 1.0) * self.facts.noise_excess / (_READABLE * self.activity.users * mu)) ** 2
        share = min(max(self.settings.moment_share, needed), _MOST_MOMENT)
        full = self.settings.curvature == "full" and order > 1
        return Units(
            weight=float(np.sqrt(per_user * (1.0 - weight_share) / (gradient * weight_share))),
            moment=moment / float(np.sqrt(gradient * share)),
            curvature=order * float(np.sqrt(per_user / gradient)) if full else None,
        )


def _numbers(settings: BudgetedSettings, n_items: int) -> int:
    order = 1 + (MOST_RANK if settings.rank == "auto" else settings.rank)
    entries = n_items * (2 * order + 4) + 2 * (order + 1) ** 2 + 128
    return entries + n_items * order**2 if settings.curvature == "full" else entries


BUDGETED = PublicHalf(
    name="budgeted",
    settings_type=BudgetedSettings,
    train=train,
    questions=(ActivityQuestion, RoundQuestion),
    # The rule for rank and rounds reads the first release.
    adaptive=True,
    public=(
        "all settings; a rank or number of rounds left to the rule follows from the first release",
        "the random start of the factors",
    ),
    numbers=_numbers,
    uses_features=True,
)
