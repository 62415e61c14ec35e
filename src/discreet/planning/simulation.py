"""What to expect of a budget before it is spent: training on made-up markets of the sizes a person types.

A market of very many users is simulated with fewer of them. A release is the sum of what n users say, each bounded by
D, with Gaussian noise of standard deviation D / mu; divided by n, the noise is D / (mu n). A market of n / f users with
mu f has the same noise in units of the number of users (docs/plan.md). What fewer users do change is how well they
stand for everybody: the spread of a mean over users is sqrt(f) times as large, so that a plan errs on the careful side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from discreet.catalogue import Goal
from discreet.data.ratings import Ratings
from discreet.data.splits import by_rating
from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.methods.als import ALS
from discreet.methods.registry import default_method
from discreet.model import Model
from discreet.planning.result import AT, Outcome, Plan
from discreet.planning.worlds import TEMPERS, Sizes, draw_market
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

    A plan has mean and range over three markets that differ in how much taste there is; for the numbers to give see
    :class:`discreet.planning.worlds.Sizes`. ``quick`` makes smaller markets: some seconds, and less sharp.
    """
    started = time.perf_counter()
    sizes = Sizes(users, items, ratings_per_user, rating_range, goal, head_share, spread)
    if not epsilons:
        raise SettingsInvalid("a plan needs at least one epsilon")
    budgets = [None, *(Budget(float(epsilon), delta) for epsilon in sorted(set(epsilons)))]
    simulated = simulated_users(sizes, quick)
    found: list[list[float | None]] = [[] for _ in budgets]
    baselines: dict[str, list[float]] = {}
    for number, temper in enumerate(TEMPERS):
        stage = f"market {number + 1} of {len(TEMPERS)}: {temper.name}"
        market = draw_market(sizes, simulated, temper, rng + number)
        train, test = by_rating(market, (1.0 - _HELD_OUT, _HELD_OUT), rng=rng + number)
        for done, (budget, scores) in enumerate(zip(budgets, found, strict=True)):
            if progress is not None:
                progress(stage, done, len(budgets))
            model = _trained(goal, train, budget, sizes.users / simulated)
            scores.append(
                None if model is None else _scored(goal, model, train, test, baselines, first=done == 0)
            )
        if progress is not None:
            progress(stage, len(budgets), len(budgets))
    private = tuple(
        Outcome(f"epsilon {budget.epsilon:g}", budget.epsilon, tuple(scores))
        for budget, scores in zip(budgets, found, strict=True)
        if budget is not None
    )
    return Plan(
        sizes=sizes,
        delta=delta,
        simulated_users=simulated,
        markets=tuple(temper.name for temper in TEMPERS),
        baselines=tuple(Outcome(name, None, tuple(scores)) for name, scores in baselines.items()),
        not_private=Outcome("not private", None, tuple(found[0])),
        private=private,
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


def _trained(goal: Goal, train: Ratings, budget: Budget | None, factor: float) -> Model | None:
    """A model within a budget, or without privacy; ``None`` where the budget is too small to train with."""
    if budget is None:  # for lists, plain ALS takes more factors than such a market has, and suffers
        method = ALS(goal="rate") if goal == "rate" else ALS(goal="rank", rank=_LIST_RANK)
        return method.fit(train, rng=0).model_
    try:
        return default_method(goal)().fit(train, budget_for_fewer(budget, factor), rng=0).model_
    except BudgetInvalid:
        return None


def _scored(
    goal: Goal, model: Model, train: Ratings, test: Ratings, baselines: dict[str, list[float]], *, first: bool
) -> float:
    """Of a model; of the first one of a market, the baselines beside it are noted."""
    if goal == "rate":
        errors = evaluate_ratings(model, train, test)
        beside = {"global mean": errors.global_mean_rmse, "user mean": errors.user_mean_rmse}
        score = errors.rmse
    else:
        lists = evaluate_ranking(model, train, test, AT)
        beside, score = {"popularity": lists.popularity_recall}, lists.recall
    for name, value in beside.items() if first else ():
        baselines.setdefault(name, []).append(value)
    return score
