"""Budgeted ALS as its public half sees it: one question after another, each answered by a noisy sum.

A question says everything a holder of ratings needs to know to answer it, and what the answer costs. Whoever sums
the answers (one server, or several organisations that do not pool their ratings) hands the release back, and the
next question follows from it. The schedule never sees a rating, so it can be run, stored and replayed anywhere: the
same settings, start and releases give the same questions to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from discreet.catalogue import RatingScale
from discreet.errors import BudgetInvalid
from discreet.methods.budgeted.public.activity import read_activity
from discreet.methods.budgeted.public.plan import Activity, Plan, choose_rank, choose_rounds, difficulty
from discreet.methods.budgeted.public.update import Frame, first_offsets, first_popularity, refine
from discreet.methods.settings import BudgetedSettings
from discreet.methods.shared.public.item_weights import Popularity
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.energy_scaled import RoundStatistics, Units, read_round
from discreet.types import Floats

__all__ = ["ActivityQuestion", "BudgetedSchedule", "Question", "RoundQuestion"]

Released = dict[str, Floats]

# Users' ridge in units of the mean squared residual, round by round: 20, 8, then 3 (see docs/architecture.md).
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
# A question is not asked again when less than this share of what it and all after it would have cost is left.
_LEAST_LEFT = 0.05


@dataclass(frozen=True)
class ActivityQuestion:
    """How many users are there, and how much do they rate?"""

    name: str
    mu: float


@dataclass(frozen=True)
class RoundQuestion:
    """What does every user's residual say, at this item side and in these coordinates?

    Parameters
    ----------
    name, mu
        What the statement calls the release, and what it costs.
    side, frame
        Where the last round left off.
    item_weights, units
        Public scales of the contributions (:class:`discreet.privacy.gaussian.energy_scaled.RoundContribution`).
    """

    name: str
    mu: float
    side: ItemSide
    frame: Frame
    item_weights: Floats
    units: Units


Question = ActivityQuestion | RoundQuestion


class _State(NamedTuple):
    side: ItemSide
    frame: Frame
    popularity: Popularity


class BudgetedSchedule:
    """Which question comes next, and what the item side is when there is none left.

    Parameters
    ----------
    settings
        Public.
    budget
        For the words of a refusal, and the check of delta against the number of users.
    n_items, rating_range
        Of the public catalogue; no range means clicks.
    mu
        Gaussian cost that all questions together may have.
    rng
        Draws the random start of the factors.
    noise_excess
        How many times larger the noise is than ``mu`` asks for. Above 1 where more silos add a share than need to;
        estimates are then believed less.

    Attributes
    ----------
    question
        The one to answer now; ``None`` at the end.
    plan
        Rank, rounds and shares, once the first answer is in.
    """

    plan: Plan

    def __init__(
        self,
        settings: BudgetedSettings,
        budget: Budget,
        n_items: int,
        rating_range: tuple[float, float] | None,
        mu: float,
        rng: np.random.Generator,
        noise_excess: float = 1.0,
    ) -> None:
        self.settings = settings
        self.noise_excess = noise_excess
        self._budget = budget
        self._n_items = n_items
        self._range = rating_range
        self._rng = rng
        self._activity: Activity | None = None
        self._state: _State | None = None
        self._costs: list[float] = []
        self._weight_share = settings.first_weight_share
        self._left = mu * float(np.sqrt(1.0 - settings.activity_share))
        self.question: Question | None = ActivityQuestion(
            "activity: users and ratings per user", mu * float(np.sqrt(settings.activity_share))
        )

    @property
    def explicit(self) -> bool:
        """Ratings rather than clicks."""
        return self._range is not None

    @property
    def done(self) -> int:
        """Answers taken after the first, of ``plan.rounds + 1``."""
        return len(self.plan.shares) - len(self._costs) - (self.question is not None)

    def take(self, released: Released) -> None:
        """Read the answer to the current question and go on to the next."""
        question = self.question
        assert question is not None
        if isinstance(question, ActivityQuestion):
            self._begin(released["activity"], question.mu / self.noise_excess)
            return
        activity, statistics = (
            self._known,
            read_round(question.units, question.item_weights, released, question.mu / self.noise_excess),
        )
        if self._state is None:
            state = self._after_first(question, statistics)
        else:
            number = self.plan.rounds - len(self._costs)
            caution = _CAUTION[min(number, len(_CAUTION)) - 1]
            side, frame, popularity = self._state
            state = _State(
                *refine(side, frame, statistics, popularity, ratings=activity.ratings, caution=caution)
            )
        self._state = state
        self._next()

    def repeat(self) -> None:
        """Ask the current question again after an attempt that was paid for and came to nothing.

        What is left is spread over this question and all later ones in their planned proportions.

        Raises
        ------
        BudgetInvalid
            When hardly anything is left, as in the last round. Nothing has changed then.
        """
        question = self.question
        assert question is not None
        first = isinstance(question, ActivityQuestion)
        later = self._left**2 if first else float(np.sum(np.square(self._costs)))
        share = later / (later + question.mu**2)
        if share < _LEAST_LEFT:
            raise BudgetInvalid(
                f"{question.name!r} cannot be repeated: after the attempt that was paid for, {share:.0%} of what was "
                "meant for it and all later rounds is left"
            )
        scale = float(np.sqrt(share))
        mu = question.mu * scale
        if isinstance(question, ActivityQuestion):
            self._left *= scale
            self.question = replace(question, mu=mu)
        else:
            self._costs = [cost * scale for cost in self._costs]
            units = self._units(question.frame, mu, self._weight_share)
            self.question = replace(question, mu=mu, units=units)

    @property
    def learnt(self) -> bool:
        """Whether there is an item side yet."""
        return self._state is not None

    def item_side(self) -> ItemSide:
        """What has been learnt so far."""
        assert self._state is not None
        side = self._state.side
        if self._state.frame.start:
            # Every round was drowned: what is left of the factors is their random start, which says nothing.
            side = replace(side, factors=np.zeros((side.n_items, 0)))
        return side

    @property
    def _known(self) -> Activity:
        assert self._activity is not None
        return self._activity

    def _begin(self, released: Floats, mu: float) -> None:
        activity = read_activity(released, mu, self._n_items, self._range)
        if activity is None:
            raise BudgetInvalid(
                f"the budget ({self._budget}) is too small to train on these ratings: the number of users does not "
                "stand out of the noise. Raise epsilon or bring more users; this run's first release has been spent"
            )
        self._activity = activity
        self.plan = self._make_plan(activity, self._left / self.noise_excess)
        self._costs = [self._left * float(np.sqrt(part)) for part in self.plan.shares]
        side, frame = self._empty(activity)
        name, share = "offsets", self.settings.first_weight_share
        if not self.explicit:
            name, share = "popularity", _CLICK_WEIGHT_SHARE
        self.question = self._ask(name, self._costs.pop(0), side, frame, np.ones(self._n_items), share)

    def _next(self) -> None:
        assert self._state is not None
        if not self._costs:
            self.question = None
            return
        number = self.plan.rounds - len(self._costs) + 1
        side, frame, popularity = self._state
        self.question = self._ask(
            f"round {number}",
            self._costs.pop(0),
            side,
            frame,
            self._item_weights(popularity),
            self.settings.weight_share,
        )

    def _make_plan(self, activity: Activity, mu: float) -> Plan:
        settings, n_items = self.settings, self._n_items
        self._budget.check_users(max(1, int(activity.users)))
        if difficulty(activity, n_items, mu) > _HOPELESS:
            raise BudgetInvalid(
                f"the budget ({self._budget}) is too small to train on about {activity.users:,.0f} users "
                f"and {n_items:,} items: every estimate would be noise. Raise epsilon, bring more users, or offer "
                "fewer items; the first release of this run has been spent"
            )
        rank, rounds, first = settings.rank, settings.rounds, settings.offset_share
        if rank == "auto":
            rank = choose_rank(activity, n_items, mu, explicit=self.explicit)
        if rounds == "auto":
            rounds = choose_rounds(explicit=self.explicit)
        if first == "auto":
            first = 0.2 if self.explicit else 0.1
        return Plan.make(rank, rounds, first, settings.growth)

    def _empty(self, activity: Activity) -> tuple[ItemSide, Frame]:
        frame = Frame(np.eye(1), float(np.sqrt(activity.within)), activity.ratings_per_user)
        empty = np.zeros(self._n_items), np.zeros((self._n_items, 0))
        settings = self.settings
        if self._range is None:
            usual = min(1.0, 20.0 * activity.ratings_per_user / self._n_items)
            gravity = usual if settings.gravity == "auto" else settings.gravity
            penalty = settings.factor_penalty
            if penalty == "auto":
                penalty = _CLICK_PENALTY * gravity
            return ItemSide(RatingScale(None), 0.0, *empty, Clicks(gravity, penalty)), frame
        scale = RatingScale(self._range)
        rule = Ridge(activity.within / activity.between)
        return ItemSide(scale, scale.middle, *empty, rule), frame

    def _after_first(self, question: RoundQuestion, statistics: RoundStatistics) -> _State:
        side, frame = question.side, question.frame
        if self.explicit:
            side, popularity, residual = first_offsets(side, frame, statistics, self._known.ratings)
            frame = replace(frame, residual=residual)
        else:
            side, popularity = first_popularity(side, statistics)
        if self.plan.rounds:
            side, frame = self._start(side, frame)
        return _State(side, frame, popularity)

    def _start(self, side: ItemSide, frame: Frame) -> tuple[ItemSide, Frame]:
        """Random factors. The strong ridge makes a user's first vector the projection of their residuals on them."""
        factors = self._rng.standard_normal((side.n_items, self.plan.rank))
        if self.explicit:
            rule = replace(side.ridge, factor_penalty=100.0 * frame.residual**2)
            side = replace(side, rule=rule, factors=factors)
        else:
            factors *= np.sqrt(side.offsets * side.offsets.mean())[:, None]
            side = replace(side, factors=factors)
        return side, replace(frame, whiten=np.eye(1 + self.plan.rank), start=True)

    def _item_weights(self, popularity: Popularity) -> Floats:
        exponent = self.settings.item_exponent
        if exponent == "auto":
            exponent = 0.25 if self.explicit else 0.0
        positive = popularity.positive()
        weights: Floats = (positive / positive.mean()) ** -exponent
        return weights

    def _ask(
        self, name: str, mu: float, side: ItemSide, frame: Frame, weights: Floats, weight_share: float
    ) -> RoundQuestion:
        self._weight_share = weight_share
        return RoundQuestion(name, mu, side, frame, weights, self._units(frame, mu, weight_share))

    def _units(self, frame: Frame, mu: float, weight_share: float) -> Units:
        """Scales at which a typical user spends the set shares of energy beside the gradient.

        The moment gets more than its share where the budget is small: its relative noise is about
        order / (sqrt(share) n mu), and a step in coordinates that noise has chosen is worse than none.
        """
        order, per_user = len(frame.whiten), self._known.ratings_per_user
        gradient = order * per_user * frame.residual**2
        moment = (per_user if self.explicit else 1.0) * (order + 1.0)
        needed = ((order + 1.0) * self.noise_excess / (_READABLE * self._known.users * mu)) ** 2
        share = min(max(self.settings.moment_share, needed), _MOST_MOMENT)
        full = self.settings.curvature == "full" and order > 1
        return Units(
            weight=float(np.sqrt(per_user * (1.0 - weight_share) / (gradient * weight_share))),
            moment=moment / float(np.sqrt(gradient * share)),
            curvature=order * float(np.sqrt(per_user / gradient)) if full else None,
        )
