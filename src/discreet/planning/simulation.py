"""What to expect of a budget before it is spent: training on made-up markets of the sizes a person types.

A market of very many users is simulated with fewer of them. A release is the sum of what n users say, each bounded by
D, with Gaussian noise of standard deviation D / mu; divided by n, the noise is D / (mu n). A market of n / f users with
mu f has the same noise in units of the number of users (docs/plan.md). What fewer users do change is how well they
stand for everybody: the spread of a mean over users is sqrt(f) times as large, so that a plan errs on the careful side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from discreet.catalogue import Goal
from discreet.data.ratings import Ratings
from discreet.data.splits import by_rating
from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.methods.als import ALS
from discreet.methods.registry import default_method
from discreet.model import Model
from discreet.model.item_weights import ItemWeights
from discreet.model.start import sums_of
from discreet.pictures import Axis, Chart
from discreet.planning.worlds import TEMPERS, USUAL_SPREAD, Sizes, draw_market
from discreet.privacy.accounting import epsilon_from, mu_from
from discreet.privacy.budget import Budget

__all__ = [
    "Outcome",
    "Plan",
    "budget_for_fewer",
    "chart",
    "plan",
    "recommendation",
    "reservations",
    "simulated_users",
]

_AT = 20  # length of the lists, where the goal is to rank
_HALF, _MOST = 0.5, 0.9
_MOST_RATINGS, _QUICK_RATINGS = 1_200_000, 200_000
_FEWEST_USERS, _HELD_OUT, _LIST_RANK = 500, 0.1, 8
# Bytes that training for lists takes: always, for each rating, and for each two items of the head; additions a second.
# As `benchmarks/list_speed.py` finds them.
_ALWAYS, _PER_RATING, _PER_PAIR = 250e6, 36.0, 48.0
_ADDED_A_SECOND = 5e8

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Outcome:
    """A way to predict, and its score in each market; ``None`` where the budget was too small to train with.

    Of private lists also of how many items pairs were counted (the head), and how many seconds training took: the most
    of all markets.
    """

    name: str
    epsilon: float | None
    scores: tuple[float | None, ...]
    head: int | None = None
    seconds: float | None = None

    @property
    def known(self) -> list[float]:
        """Scores of the markets that could be trained on."""
        return [score for score in self.scores if score is not None]

    @property
    def mean(self) -> float | None:
        """Over the markets; ``None`` where one of them could not be trained on."""
        return fmean(self.known) if len(self.known) == len(self.scores) else None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        known = self.known if self.mean is not None else []
        return {
            "name": self.name,
            "epsilon": self.epsilon,
            "mean": self.mean,
            "lowest": min(known, default=None),
            "highest": max(known, default=None),
            "markets": list(self.scores),
        }


@dataclass(frozen=True)
class Plan:
    """Expected quality against epsilon: baselines without a model, and models, the private ones by rising epsilon."""

    sizes: Sizes
    delta: float
    simulated_users: int
    markets: tuple[str, ...]
    baselines: tuple[Outcome, ...]
    not_private: Outcome
    private: tuple[Outcome, ...]
    seconds: float

    @property
    def measure(self) -> str:
        """What models are judged by."""
        return "rmse" if self.sizes.goal == "rate" else f"recall@{_AT}"

    @property
    def baseline(self) -> Outcome:
        """The best that is to be had without learning about tastes."""
        return self.baselines[-1]

    def memory_mb(self, outcome: Outcome) -> float | None:
        """About what training with all users takes at most."""
        if outcome.head is None:
            return None
        ratings, pairs = self.sizes.users * self.sizes.ratings_per_user, outcome.head * (outcome.head - 1) / 2
        return (_ALWAYS + _PER_RATING * ratings + _PER_PAIR * pairs) / 1e6

    def seconds_of(self, outcome: Outcome) -> float | None:
        """About what training with all users takes on this machine: pairs of those who were not simulated come on top.

        Some people have many more ratings than others, so twice the pairs of an average person are counted for each.
        """
        if outcome.seconds is None:
            return None
        more = self.sizes.users - self.simulated_users
        return outcome.seconds + more * self.sizes.ratings_per_user**2 / _ADDED_A_SECOND

    def gain(self, outcome: Outcome) -> float | None:
        """Which share of the way from the baseline to the model without privacy was gone, over all markets."""
        if outcome.mean is None or outcome.mean == self.baseline.mean:
            return None if outcome.mean is None else 0.0
        assert self.baseline.mean is not None
        assert self.not_private.mean is not None
        way = self.not_private.mean - self.baseline.mean
        return (outcome.mean - self.baseline.mean) / way if self.worth else None

    @property
    def worth(self) -> bool:
        """Whether a model without privacy is better than the baseline at all."""
        return self.better(self.not_private) == len(self.markets)

    def better(self, outcome: Outcome) -> int:
        """In how many markets a way is better than the baseline."""
        sign = -1.0 if self.sizes.goal == "rate" else 1.0
        pairs = zip(outcome.scores, self.baseline.scores, strict=True)
        return sum(
            one is not None and other is not None and sign * (one - other) > 0.0 for one, other in pairs
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        sizes = asdict(self.sizes)
        sizes["rating_range"] = None if self.sizes.rating_range is None else list(self.sizes.rating_range)
        return {
            **sizes,
            "delta": self.delta,
            "measure": self.measure,
            "simulated": {
                "users": self.simulated_users,
                "noise_divided_by": self.sizes.users / self.simulated_users,
                "markets": list(self.markets),
            },
            "baselines": [one.to_dict() for one in self.baselines],
            "not_private": self.not_private.to_dict(),
            "private": [
                {
                    **one.to_dict(),
                    "gain": self.gain(one),
                    "head": one.head,
                    "memory_mb": self.memory_mb(one),
                    "seconds": self.seconds_of(one),
                }
                for one in self.private
            ],
            "seconds": round(self.seconds, 3),
        }


def plan(
    users: int,
    items: int,
    ratings_per_user: float,
    *,
    goal: Goal = "rank",
    rating_range: tuple[float, float] | None = (1.0, 5.0),
    head_share: float = 0.7,
    spread: float | None = None,
    epsilons: Sequence[float] = (0.5, 1.0, 2.0, 5.0, 20.0),
    delta: float = 1e-6,
    quick: bool = False,
    rng: int = 0,
    progress: Progress = lambda stage, done, total: None,
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
    heads: list[list[int]] = [[] for _ in budgets]
    seconds = [0.0] * len(budgets)
    for number, temper in enumerate(TEMPERS):
        stage = f"market {number + 1} of {len(TEMPERS)}: {temper.name}"
        market = draw_market(sizes, simulated, temper, rng + number)
        train, test = by_rating(market, (1.0 - _HELD_OUT, _HELD_OUT), rng=rng + number)
        for done, (budget, scores) in enumerate(zip(budgets, found, strict=True)):
            progress(stage, done, len(budgets))
            begun = time.perf_counter()
            model = _trained(goal, train, budget, sizes.users / simulated)
            if model is not None and isinstance(model.item_side, ItemWeights):
                heads[done].append(len(sums_of(model).head))
                seconds[done] = max(seconds[done], time.perf_counter() - begun)
            scores.append(
                None if model is None else _scored(goal, model, train, test, baselines, first=done == 0)
            )
        progress(stage, len(budgets), len(budgets))
    private = tuple(
        Outcome(
            f"epsilon {budget.epsilon:g}",
            budget.epsilon,
            tuple(scores),
            max(head, default=None),
            took if head else None,
        )
        for budget, scores, head, took in zip(budgets, found, heads, seconds, strict=True)
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
        lists = evaluate_ranking(model, train, test, _AT)
        beside, score = {"popularity": lists.popularity_recall}, lists.recall
    for name, value in beside.items() if first else ():
        baselines.setdefault(name, []).append(value)
    return score


def reservations(plan: Plan) -> list[str]:
    """What to keep in mind about the numbers, in whole sentences."""
    sizes = plan.sizes
    said = [
        "No rating was read and nothing was spent: this follows from the numbers that you typed, and from three "
        "made-up markets with little, usual and much taste in them. Your ratings may be easier or harder than any "
        "of them."
    ]
    if plan.simulated_users < sizes.users:
        factor = sizes.users / plan.simulated_users
        said.append(
            f"{plan.simulated_users:,} of {sizes.users:,} users were simulated, with {factor:.3g} times less noise, "
            "so that each item has the same noise for each user who rates it. Fewer users also stand less well for "
            "everybody, so the truth is a little better than this."
        )
    if sizes.goal == "rate" and sizes.spread is None:
        said.append(
            "Errors grow with how much ratings vary, which is assumed to be usual (a standard deviation of "
            f"{USUAL_SPREAD:g} of the range); between published sets it differs by a tenth up and down."
        )
    if sizes.goal == "rank":
        said.append(
            "The head is of how many items pairs are counted. Memory and seconds are about what training takes with "
            "all users on this machine, in memory; from blocks on disk (--blocks) it takes less memory."
        )
        said.append(
            "How high recall is differs from catalogue to catalogue by more than privacy changes it: look at the way "
            "from popularity to the model without privacy, not at the numbers themselves."
        )
    return said


def recommendation(plan: Plan) -> list[str]:
    """From which epsilon on it is worth it, in whole sentences."""
    return list(_sentences(plan))


def _sentences(plan: Plan) -> Iterator[str]:
    base, count = plan.baseline.name, len(plan.markets)
    if not plan.worth:
        yield (
            f"Even without privacy a model is no better than {base} in every market of this size: more ratings a user "
            "or more users would help, not a larger epsilon."
        )
        return
    none = [one for one in plan.private if plan.better(one) == 0]
    every = [one for one in plan.private if plan.better(one) == count]
    if len(none) == len(plan.private):
        largest = plan.private[-1].epsilon
        yield (
            f"Up to epsilon {largest:g} a private model is no better than {base}. Do not train at these budgets: "
            "get more users."
        )
        return
    if none:
        yield f"Up to epsilon {none[-1].epsilon:g} a private model is no better than {base}."
    if every:
        yield f"From epsilon {every[0].epsilon:g} on it is better than {base} in every market."
    else:
        yield f"At no epsilon here is it better than {base} in every market."
    way = "of the way from there to a model without privacy"
    for share, words in ((_HALF, "half"), (_MOST, "nine tenths")):
        reached = [one for one in plan.private if (plan.gain(one) or 0.0) >= share]
        if reached:
            yield f"From epsilon {reached[0].epsilon:g} on it has gone {words} {way}."
        else:
            yield f"No epsilon here brings it {words} {way}."
            break
    good = [one for one in plan.private if (plan.gain(one) or 0.0) >= _HALF] or every
    if good:
        epsilon = good[0].epsilon
        assert epsilon is not None
        less = epsilon_from(mu_from(epsilon, plan.delta) / 2.0, plan.delta)
        yield (
            f"A place to start: epsilon {epsilon:g}. With twice as many users the same would cost epsilon {less:.2g}."
        )


def chart(plan: Plan) -> Chart:
    """Private models with the range over the markets; baseline and the model without privacy as lines across."""
    drawn = [(one.epsilon, one) for one in plan.private if one.mean is not None and one.epsilon is not None]
    outcomes = [one for _, one in drawn]
    rates = plan.sizes.goal == "rate"
    measure = "RMSE, less is better" if rates else f"{plan.measure}, more is better"
    said = "; ".join(f"epsilon {epsilon:g}: {one.mean:.4f}" for epsilon, one in drawn)
    words = (
        f"Expected {plan.measure} against epsilon: {said}; not private {plan.not_private.mean:.4f}; "
        f"{plan.baseline.name} {plan.baseline.mean:.4f}."
    )
    x = Axis.by_factors("epsilon", [one.epsilon for one in plan.private if one.epsilon is not None])
    values = [score for one in (*outcomes, plan.baseline, plan.not_private) for score in one.known]
    picture = Chart(x, Axis.over(measure, values), words)
    if drawn:
        lowest, highest = ([(e, end(one.known)) for e, one in drawn] for end in (min, max))
        picture.band(lowest, highest, "range over the markets")
        picture.line([(e, fmean(one.known)) for e, one in drawn], "private, mean of the markets", 0)
    picture.level(fmean(plan.not_private.known), "not private, mean", 2)
    picture.level(fmean(plan.baseline.known), f"{plan.baseline.name}, mean", 1)
    return picture
