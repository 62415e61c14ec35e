"""Alternating least squares without privacy: for comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from discreet.catalogue import Catalogue, Goal
from discreet.data.ratings import Ratings
from discreet.methods.als.choice import choose, descent
from discreet.methods.als.clicks import train_clicks
from discreet.methods.als.least_squares import LeastSquares
from discreet.methods.als.settings import ALSSettings
from discreet.methods.checks import check_items, check_ratings, check_users
from discreet.methods.parameters import Estimator
from discreet.methods.public_half import check_features
from discreet.model import Model
from discreet.model.item_side import ItemSide
from discreet.privacy.carried import Carried
from discreet.privacy.statement import Statement

__all__ = ["ALS", "ALSSettings"]

Progress = Callable[[str, int, int], None]

# Rounds under a given penalty, and those that a descent of penalties ends with.
_ROUNDS = 15
_LAST_ROUNDS = 5


class ALS(Estimator):
    """Matrix factorisation by exact alternating least squares. NOT private.

    Explicit feedback has user and item offsets inside the least squares; implicit feedback has item offsets and the
    gravity term (all unseen items as zeros with a small weight).

    Every default is ``"auto"``: it is chosen from the data, so that the yardstick is a strong one without tuning
    (``benchmarks/results/yardsticks.md``). A tenth of the ratings or clicks is held out to judge by, which about
    doubles the time of training.

    Parameters
    ----------
    goal
        What ratings are for. ``"rate"`` predicts them. ``"rank"`` takes them as opinions (from -0.6 for the lowest to 1
        for the highest, `RatingScale.opinions`), and ranks: the settings are then those of clicks. Without ratings the
        goal is always ``"rank"``.
    rank
        Factors. For ratings ``"auto"`` judges 8 and 32 by the held-out tenth, for clicks 8, 32 and 128.
    rounds
        Passes over both sides. For ratings ``"auto"`` follows the penalties down from strong ones to the chosen one; it
        is 15 where a penalty is given, and for clicks 8.
    offset_penalty, penalty, count_exponent
        Ridge on offsets and factors, times (number of ratings) ** count_exponent. For ratings ``"auto"`` judges the
        penalties by the held-out tenth, with exponent 0.5; people's own may end weaker than that of training. For
        clicks offsets have no penalty, and that of a user with the mean number of clicks goes up from 0.05 times that
        number, by a factor of the root of 2, as long as held-out recall rises.
    gravity
        Weight of unseen items as zeros (clicks). ``"auto"`` is 3 times a user's mean number of clicks over the number
        of items in use (1 / sum of squared shares of the clicks): items that nobody uses change nothing.

    Attributes
    ----------
    model_, statement_, rank_, rounds_
        As for :class:`discreet.BudgetedALS`; the statement says that there is no privacy guarantee.
    """

    settings_type = ALSSettings

    model_: Model
    statement_: Statement
    rank_: int
    rounds_: int

    def __init__(
        self,
        *,
        goal: Goal = "rate",
        rank: int | Literal["auto"] = "auto",
        rounds: int | Literal["auto"] = "auto",
        offset_penalty: float | Literal["auto"] = "auto",
        penalty: float | Literal["auto"] = "auto",
        count_exponent: float | Literal["auto"] = "auto",
        gravity: float | Literal["auto"] = "auto",
    ) -> None:
        super().__init__(
            goal=goal,
            rank=rank,
            rounds=rounds,
            offset_penalty=offset_penalty,
            penalty=penalty,
            count_exponent=count_exponent,
            gravity=gravity,
        )

    @classmethod
    def method_name(cls) -> str:
        """On the command line and in saved models."""
        return "als"

    def fit(
        self,
        ratings: Ratings,
        *,
        rng: np.random.Generator | int | None = None,
        progress: Progress | None = None,
    ) -> ALS:
        """Train. Without a catalogue the items seen are the catalogue, which a private method would refuse."""
        check_ratings(ratings)
        if ratings.catalogue is None:
            assert ratings.provisional_ids is not None
            seen = Catalogue(ratings.provisional_ids)
            ratings = ratings.with_catalogue(
                seen.found_by(Carried(fault="its catalogue was read off ratings by plain ALS, without noise"))
            )
        assert ratings.catalogue is not None
        check_features("als", used=False, given=ratings.catalogue.features is not None)
        check_items(ratings.n_items)
        check_users(ratings)
        generator = np.random.default_rng(rng)
        settings: ALSSettings = self.settings
        train = _train_ratings if ratings.explicit and settings.goal == "rate" else train_clicks
        side, self.rounds_ = train(settings, ratings, generator, progress or _silent)
        self.rank_ = side.rank
        statement = Statement.not_private("trained by plain ALS, which adds no noise")
        said = settings.model_dump(mode="json") | {"goal": side.goal}
        self.model_ = Model(side, ratings.catalogue, statement, self.method_name(), said)
        self.statement_ = self.model_.statement
        return self


def _train_ratings(
    settings: ALSSettings, ratings: Ratings, rng: np.random.Generator, progress: Progress
) -> tuple[ItemSide, int]:
    """The item side and how many rounds it took."""
    choice = choose(settings, ratings, rng, lambda done, total: progress("choosing penalties", done, total))
    if settings.rounds != "auto":
        penalties = [choice.penalty] * settings.rounds
    elif settings.penalty != "auto":
        penalties = [choice.penalty] * _ROUNDS
    else:
        penalties = [*descent(choice.unit, choice.penalty), *[choice.penalty] * _LAST_ROUNDS]
    fit = LeastSquares(ratings, choice.rank, choice.count_exponent, rng)
    for done, penalty in enumerate(penalties):
        progress("training", done, len(penalties))
        fit.round(choice.offset_penalty, penalty)
    progress("training", len(penalties), len(penalties))
    return fit.item_side(choice.offset_penalty, choice.relaxed * choice.penalty), len(penalties)


def _silent(what: str, done: int, total: int) -> None:
    """Progress that nobody asked for."""
