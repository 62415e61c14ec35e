"""Choosing settings by private trials, within one budget that covers all that is tried.

A trial draws settings, fits on everybody's training part and releases a noisy score on everybody's validation part. The
best of a random number of trials leaves, and nothing else. Proof note: ``privacy/proofs/selection.md``.
"""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import BudgetInvalid, CatalogueMissing, DiscreetError, SettingsInvalid
from discreet.methods.log import silent
from discreet.methods.method import PrivateMethod
from discreet.methods.shared.private import draw_numbers
from discreet.model import Model
from discreet.model.history import fold_in_blocks
from discreet.model.item_side import ItemSide
from discreet.privacy.account.ledger_file import AnyLedger, LedgerRun, open_run
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Price, Selection, budget_for, draw_trials
from discreet.privacy.gaussian.gate import Gate, release
from discreet.privacy.gaussian.tallies import LossAndCount
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import Statement, state_selection
from discreet.types import Floats

__all__ = ["Score", "Tuned", "draw_settings", "release_score", "split_validation", "tune", "user_losses"]

Method = type[PrivateMethod]
Space = Mapping[str, Sequence[str | bool | int | float]]
_SCORE_SHARE = 0.1  # of a trial's mu^2
_VALIDATION_SHARE = 0.1  # of everybody's ratings
_PUBLIC = (
    "all settings that were not searched",
    "of the settings that were searched the space and the distribution; their values follow from the selection",
    "the mean number of trials, and the shares of ratings and of budget that scores get",
)
_ENTROPY = secrets.SystemRandom()


class Score(NamedTuple):
    """Noisy sum over users of their loss less 1/2 (lower is better); for people an error in stars."""

    total: float
    value: float


@dataclass(frozen=True)
class Tuned:
    """The chosen trial, to be used like a fitted method.

    Attributes
    ----------
    model_, statement_, rank_, rounds_
        As for any method; the statement covers the whole search.
    settings_
        The settings that won, with those that were fixed.
    score_
        Its noisy root mean squared error on the validation ratings, in stars.
    """

    model_: Model
    statement_: Statement
    settings_: dict[str, Any]
    score_: float
    rank_: int
    rounds_: int


def tune(
    method: Method,
    space: Space,
    ratings: Ratings,
    budget: Budget,
    *,
    mean_trials: float = 10.0,
    settings: Mapping[str, Any] | None = None,
    rng: np.random.Generator | int | None = None,
    ledger: AnyLedger | None = None,
) -> Tuned:
    """Fit a private method with settings drawn at random, a random number of times, and keep the best.

    Parameters
    ----------
    method
        A private method that predicts ratings, such as `BudgetedALS`.
    space
        For each setting to search a list of choices, all as likely.
    ratings
        With a public catalogue. A tenth of everybody's ratings is held back for the scores.
    budget
        For the whole search; whatever is tried is covered by it.
    mean_trials
        Mean of the geometric distribution of the number of trials. There is no fixed number: it would have to be paid
        for trial by trial.
    settings
        Settings that are not searched.
    rng
        Random start and validation split, the same in every trial. Never the drawn settings, their number or noise.
    ledger
        Of the data set, as in ``fit``. The whole search is entered as one charge before the first trial; nothing in
        the ledger tells how many there were.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. What leaves is the best trial, its
    model, settings and noisy score. How many trials there were and what the others gave must stay here.

    **Whoever watches the machine learns the number of trials** (run time, load, times of files written before and
    after the search), and then the promise is void. Let nobody watch who may not see the ratings. A trial that ends
    with a refusal counts as the worst.
    """
    if not 1.0 < mean_trials <= 10_000.0:
        raise SettingsInvalid(f"mean_trials is above 1 and at most 10,000, not {mean_trials!r}")
    selection = Selection(mean_trials=float(mean_trials), score_share=_SCORE_SHARE)
    fixed = dict(settings or {})
    _check_space(method, space, fixed)
    _check_data(method, ratings, budget)
    run = None if ledger is None else _paid(ledger, method, selection, budget, ratings)
    generator = np.random.default_rng(rng)
    start, split = (int(number) for number in generator.integers(2**63, size=2))
    mu = selection.trial_mu(budget)
    trial = _Trial(
        method,
        fixed,
        *split_validation(ratings, _VALIDATION_SHARE, split),
        budget_for(mu * math.sqrt(1.0 - _SCORE_SHARE), budget.delta),
        budget_for(mu * math.sqrt(_SCORE_SHARE), budget.delta),
        start,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each would tell that there was a trial
        best = trial.run(draw_settings(space))
        for _ in range(draw_trials(selection.mean_trials) - 1):
            other = trial.run(draw_settings(space))
            # Equal scores are as good as impossible; the first one stands then, which is no rank of its own.
            best = other if other.score.total < best.score.total else best
    return _released(best, selection, budget, run)


def _paid(
    ledger: AnyLedger, method: Method, selection: Selection, budget: Budget, ratings: Ratings
) -> LedgerRun:
    """Charge the whole search and end its entry: when the last trial ends is not to be read off the file."""
    mu, mean = selection.trial_mu(budget), selection.mean_trials
    price = Price(kind="selection", mu=mu, epsilon=budget.epsilon, delta=budget.delta, mean_trials=mean)
    paid = None if ratings.catalogue is None else ratings.catalogue.paid
    name = method.public_half.name
    with open_run(ledger, budget, price, method=name, adaptive=True, carried=paid) as run:
        run.pay("the best of a random number of trials", price, last=True)
        return run


@dataclass(frozen=True)
class _Outcome:
    settings: dict[str, Any]
    score: Score
    fitted: PrivateMethod | None = None
    ledger: Ledger | None = None
    refusal: str = ""


@dataclass(frozen=True)
class _Trial:
    """One mechanism: the same for every trial but for the settings, which are drawn anew."""

    method: Method
    fixed: dict[str, Any]
    training: Ratings
    validation: Ratings
    fit_budget: Budget
    score_budget: Budget
    start: int

    def run(self, drawn: dict[str, Any]) -> _Outcome:
        settings = self.fixed | drawn
        try:
            with silent():  # a line for each fit would tell how many there were
                fitted = self.method(**settings).fit(self.training, self.fit_budget, rng=self.start)
        except DiscreetError as refusal:
            return _Outcome(settings, Score(math.inf, math.inf), refusal=str(refusal))
        gate = Gate(Ledger(self.score_budget))
        side, mu = fitted.model_.factors, gate.ledger.remaining_mu
        score = release_score(gate, "score of the model", side, self.training, self.validation, mu=mu)
        return _Outcome(settings, score, fitted, gate.ledger)


def _released(best: _Outcome, selection: Selection, budget: Budget, run: LedgerRun | None) -> Tuned:
    if best.fitted is None or best.ledger is None:
        raise BudgetInvalid(
            f"no trial gave a model, and the budget ({budget}) is spent. One said: {best.refusal}"
        )
    fitted = best.fitted
    entered = None if run is None else run.asked.run
    statement = state_selection(
        fitted.statement_, best.ledger, selection, budget, public=_PUBLIC, run=entered
    )
    statement = statement.with_earlier(None if run is None else run.earlier)
    model = replace(fitted.model_, statement=statement)
    return Tuned(model, model.statement, best.settings, best.score.value, fitted.rank_, fitted.rounds_)


def _check_space(method: Method, space: Space, fixed: dict[str, Any]) -> None:
    """Make a method of every choice: a mistake must not cost a budget."""
    if not (isinstance(method, type) and issubclass(method, PrivateMethod)):
        raise SettingsInvalid(f"{method!r} is not a private method; tuning another needs no budget")
    if not space:
        raise SettingsInvalid("the space of settings is empty; name at least one setting to search")
    if both := sorted(set(space) & set(fixed)):
        raise SettingsInvalid(f"{', '.join(both)}: either searched or fixed, not both")
    if "discover_share" in {*space, *fixed}:
        raise SettingsInvalid("discover_share: tuning needs a public catalogue, and has nothing to discover")
    for key, choices in space.items():
        listed = isinstance(choices, Sequence) and not isinstance(choices, str) and len(choices) > 0
        if not (listed and all(isinstance(value, str | bool | int | float) for value in choices)):
            raise SettingsInvalid(
                f"{key}: give a list of choices, not {choices!r}. A setting that is not searched goes into "
                "settings={...}"
            )
        for value in choices:
            method(**fixed, **{key: value})


def _check_data(method: Method, ratings: Ratings, budget: Budget) -> None:
    if not isinstance(budget, Budget):
        raise BudgetInvalid("tuning needs budget=discreet.Budget(epsilon=..., delta=...)")
    if method.public_half.makes_lists or not ratings.explicit:
        raise SettingsInvalid(
            "trials are scored by how well they predict ratings, so the method must do that and the data have them. "
            "For lists there is nothing to tune: discreet.EASE chooses by what it has released"
        )
    if ratings.catalogue is None:
        raise CatalogueMissing(
            "tuning needs a public catalogue: the proof does not cover discovering one in every trial. "
            "Discover one in a run of its own, and give it here"
        )
    method.public_half.check_features(ratings.catalogue.features is not None)


def draw_settings(space: Space) -> dict[str, Any]:
    """Settings for one trial, from the system's entropy: no seed tells them, nor how many were drawn before."""
    return {key: _ENTROPY.choice(choices) for key, choices in space.items()}


def split_validation(ratings: Ratings, share: float, seed: int) -> tuple[Ratings, Ratings]:
    """Training and validation part of everybody's ratings.

    Of a user with k >= 2 ratings the validation part has max(1, floor(share k)); of others nothing. Which ones is
    decided by a hash of the user's own ratings and the public seed: no user's split depends on other users.
    """
    counts = np.diff(ratings.indptr)
    wanted = np.where(counts >= 2, np.maximum(1, np.floor(share * counts)), 0)
    users = np.repeat(np.arange(ratings.n_users), counts)
    order = np.lexsort((draw_numbers(ratings, seed), users))
    places = np.arange(ratings.n_ratings) - np.repeat(ratings.indptr[:-1], counts)
    held = np.zeros(ratings.n_ratings, dtype=bool)
    held[order] = places < np.repeat(wanted, counts)
    return ratings.keep(~held), ratings.keep(held)


def user_losses(side: ItemSide, training: Ratings, validation: Ratings) -> Floats:
    """Each user's mean squared error on their validation part, between 0 and 1; 0 for a user without one.

    In units of half the range, each square at most 1, predicted from the user's own training part.
    """
    counts = np.diff(validation.indptr)
    filled, losses = counts > 0, np.zeros(len(counts))
    if validation.n_ratings:
        sums = np.add.reduceat(_squares(side, training, validation), validation.indptr[:-1][filled])
        losses[filled] = sums / counts[filled]
    return np.clip(np.nan_to_num(losses, nan=1.0), 0.0, 1.0)


def release_score(
    gate: Gate, name: str, side: ItemSide, training: Ratings, validation: Ratings, *, mu: float
) -> Score:
    """The noisy score of a released model.

    Notes
    -----
    **Privacy**. mu-GDP for adding or removing one user: nobody's split or loss depends on who else is there, and
    :class:`~discreet.privacy.gaussian.tallies.LossAndCount` bounds what a loss can move.
    """
    losses = user_losses(side, training, validation)
    total, mean = release(gate, name, LossAndCount(), losses, np.diff(validation.indptr) > 0, mu=mu)
    return Score(total, side.scale.half_width * mean**0.5)


def _squares(side: ItemSide, training: Ratings, validation: Ratings) -> Floats:
    predicted = np.empty(validation.n_ratings)
    for part in fold_in_blocks(side, training):
        bounds = validation.indptr[part.users.start : part.users.stop + 1]
        entries = slice(int(bounds[0]), int(bounds[-1]))
        users = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        predicted[entries] = side.predict(part.coefficients, users, validation.items[entries])
    squares: Floats = np.clip(((predicted - validation.values) / side.scale.half_width) ** 2, 0.0, 1.0)
    return np.nan_to_num(squares, nan=1.0)
