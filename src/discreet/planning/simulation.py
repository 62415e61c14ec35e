"""What to expect of a budget before it is spent: training on made-up markets of the sizes a person types.

A market of very many users is simulated with fewer of them. A release is the sum of what n users say, each bounded by
D, with Gaussian noise of standard deviation D / mu; divided by n, the noise is D / (mu n). A market of n / f users with
mu f has the same noise in units of the number of users (docs/plan.md). What fewer users do change is how well they
stand for everybody: the spread of a mean over users is sqrt(f) times as large, so that a plan errs on the careful side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from discreet.catalogue import Goal
from discreet.data.ratings import Ratings
from discreet.data.splits import by_rating
from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.methods.als import ALS
from discreet.methods.registry import DEFAULTS
from discreet.model import Model
from discreet.planning.result import AT, Outcome, Plan
from discreet.planning.sizes import Sizes
from discreet.planning.worlds import TEMPERS, Temper, draw_market
from discreet.privacy.accounting import epsilon_from, mu_from
from discreet.privacy.budget import Budget

__all__ = ["EPSILONS", "budget_for_fewer", "plan", "simulated_users"]

EPSILONS = (0.5, 1.0, 2.0, 5.0, 20.0)
"""Where a plan looks if it is not told."""

_MOST_RATINGS, _QUICK_RATINGS = 1_200_000, 200_000
_FEWEST_USERS = 500
_HELD_OUT = 0.1
_LIST_RANK = 8

Progress = Callable[[str, int, int], None]


def plan(
    users: int,
    items: int,
    ratings_per_user: float,
    *,
    goal: Goal = "rank",
    rating_range: tuple[float, float] | None = (1.0, 5.0),
    head_share: float = 0.7,
    spread: float | None = None,
    epsilons: Sequence[float] = EPSILONS,
    delta: float = 1e-6,
    quick: bool = False,
    rng: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Expected quality against epsilon, from made-up markets of these sizes; no rating is read, nothing is spent.

    Parameters
    ----------
    users, items, ratings_per_user, goal, rating_range, head_share, spread
        See :class:`discreet.planning.sizes.Sizes`.
    epsilons, delta
        Budgets to compare.
    quick
        Smaller markets: some seconds, and less sharp.
    rng
        Seed of the markets.
    progress
        Called with (stage, done, total).

    Returns
    -------
    Plan
        Mean and range over three markets that differ in how much taste there is.
    """
    started = time.perf_counter()
    sizes = Sizes(users, items, ratings_per_user, rating_range, goal, head_share, spread)
    if not epsilons:
        raise SettingsInvalid("a plan needs at least one epsilon")
    budgets = [Budget(float(epsilon), delta) for epsilon in sorted(set(epsilons))]
    simulated = simulated_users(sizes, quick)
    markets = [_Market(sizes, simulated, temper, rng + number) for number, temper in enumerate(TEMPERS)]
    tasks = [("not private", None), *((f"epsilon {budget.epsilon:g}", budget) for budget in budgets)]
    found: dict[str, list[float | None]] = {name: [] for name, _ in tasks}
    baselines: dict[str, list[float]] = {}
    for number, market in enumerate(markets):
        for done, (name, budget) in enumerate(tasks):
            if progress is not None:
                progress(f"market {number + 1} of {len(markets)}: {market.temper.name}", done, len(tasks))
            found[name].append(market.score(budget))
        for name, value in market.baselines.items():
            baselines.setdefault(name, []).append(value)
        if progress is not None:
            progress(f"market {number + 1} of {len(markets)}: {market.temper.name}", len(tasks), len(tasks))
    return Plan(
        sizes=sizes,
        delta=delta,
        simulated_users=simulated,
        markets=tuple(temper.name for temper in TEMPERS),
        baselines=tuple(Outcome(name, None, tuple(scores)) for name, scores in baselines.items()),
        not_private=Outcome("not private", None, tuple(found["not private"])),
        private=tuple(
            Outcome(name, budget.epsilon, tuple(found[name])) for name, budget in tasks if budget is not None
        ),
        seconds=time.perf_counter() - started,
    )


def simulated_users(sizes: Sizes, quick: bool = False) -> int:
    """How many users are simulated: all of them, or as many as some million ratings allow."""
    most = (_QUICK_RATINGS if quick else _MOST_RATINGS) / sizes.ratings_per_user
    return int(min(sizes.users, max(_FEWEST_USERS, most)))


def budget_for_fewer(budget: Budget, factor: float) -> Budget:
    """The budget at which a market of ``1 / factor`` as many users has the same noise for each user."""
    if factor == 1.0:
        return budget
    mu = factor * mu_from(budget.epsilon, budget.delta)
    return Budget(epsilon_from(mu, budget.delta), budget.delta)


class _Market:
    """One made-up market with a tenth of its ratings held out, and what models make of it."""

    def __init__(self, sizes: Sizes, users: int, temper: Temper, seed: int) -> None:
        self.temper = temper
        self.baselines: dict[str, float] = {}
        self._sizes, self._seed = sizes, seed
        self._factor = sizes.users / users
        self._draw = partial(draw_market, sizes, users, temper, seed)
        self._parts: tuple[Ratings, Ratings] | None = None

    @property
    def _split(self) -> tuple[Ratings, Ratings]:
        """Drawn when the market is looked at, so that one market at a time is in memory."""
        if self._parts is None:
            train, test = by_rating(self._draw(), (1.0 - _HELD_OUT, _HELD_OUT), rng=self._seed)
            self._parts = train, test
        return self._parts

    def score(self, budget: Budget | None) -> float | None:
        """Of a model within a budget, or without privacy; ``None`` where the budget is too small to train with."""
        train, _ = self._split
        goal = self._sizes.goal
        if budget is None:
            return self._without_privacy(train)
        try:
            fitted = DEFAULTS[goal]().fit(train, budget_for_fewer(budget, self._factor), rng=0)
        except BudgetInvalid:
            return None
        return self._scored(fitted.model_)

    def _without_privacy(self, train: Ratings) -> float:
        """The best that is known: for lists, plain ALS takes more factors than such a market has, and suffers."""
        if self._sizes.goal == "rate":
            return self._scored(ALS(goal="rate").fit(train, rng=0).model_)
        return self._scored(ALS(goal="rank", rank=_LIST_RANK).fit(train, rng=0).model_)

    def _scored(self, model: Model) -> float:
        train, test = self._split
        if self._sizes.goal == "rate":
            errors = evaluate_ratings(model, train, test)
            self.baselines |= {"global mean": errors.global_mean_rmse, "user mean": errors.user_mean_rmse}
            return errors.rmse
        lists = evaluate_ranking(model, train, test, AT)
        self.baselines |= {"popularity": lists.popularity_recall}
        return lists.recall
