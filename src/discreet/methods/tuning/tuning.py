"""Choosing settings by trying them, within one budget that covers all that is tried."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from discreet.data.ratings import Ratings
from discreet.errors import BudgetInvalid, CatalogueMissing, DiscreetError, SettingsInvalid
from discreet.methods.log import silent
from discreet.methods.method import PrivateMethod
from discreet.methods.tuning.space import Space
from discreet.methods.tuning.validation import Score, release_score, split_validation
from discreet.model import Model
from discreet.privacy.account.earlier import EarlierRuns
from discreet.privacy.account.ledger_file import AnyLedger, LedgerFile, open_run
from discreet.privacy.account.records import Price
from discreet.privacy.account.run import LedgerRun
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.ledger import Ledger
from discreet.privacy.selection import Selection, budget_for, draw_trials
from discreet.privacy.statement import Statement

__all__ = ["Tuned", "enter_search", "tune"]

Method = type[PrivateMethod]

_PUBLIC = (
    "all settings that were not searched",
    "of the settings that were searched the space and the distribution; their values follow from the selection",
    "the mean number of trials, and the shares of ratings and of budget that scores get",
)


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
        Its noisy score on the validation ratings: root mean squared error in stars, or Recall@20 without ratings.
    """

    model_: Model
    statement_: Statement
    settings_: dict[str, Any]
    score_: float
    rank_: int
    rounds_: int


def tune(
    method: Method,
    space: Mapping[str, Any],
    ratings: Ratings,
    budget: Budget,
    *,
    mean_trials: float = 10.0,
    score_share: float = 0.1,
    validation_share: float = 0.1,
    sampler: str = "random",
    settings: Mapping[str, Any] | None = None,
    rng: np.random.Generator | int | None = None,
    ledger: AnyLedger | None = None,
) -> Tuned:
    """Fit a private method with settings drawn at random, a random number of times, and keep the best.

    Parameters
    ----------
    method
        A private method, such as `BudgetedALS`.
    space
        For each setting to search a list of choices, a range (``{"low": 0.1, "high": 10.0, "log": True}``; whole ends
        mean whole numbers), or a distribution of Optuna.
    ratings
        With a public catalogue. A tenth of everybody's ratings is held back for the scores.
    budget
        For the whole search; whatever is tried is covered by it.
    mean_trials
        Mean of the geometric distribution of the number of trials. There is no fixed number: it would have to be paid
        for trial by trial.
    score_share, validation_share
        Share of a trial's mu^2 for its score, and of the ratings to score on.
    sampler
        ``"random"``. Samplers that learn from earlier trials are not covered by the proof.
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
    model, settings and noisy score. How many trials there were and what the others gave must stay here. Whoever sees
    how long this took, or how much memory, learns something of it: that is for the holder of the ratings alone. A trial
    that ends with a refusal counts as the worst. Proof note:
    ``privacy/proofs/selection.md``.
    """
    selection = _selection(mean_trials, score_share)
    fixed = dict(settings or {})
    drawn = _checked_space(method, space, fixed, sampler)
    _check_data(method, ratings, budget, validation_share)
    earlier = None if ledger is None else _paid(ledger, method, selection, budget)
    generator = np.random.default_rng(rng)
    start, split = (int(number) for number in generator.integers(2**63, size=2))
    mu = selection.trial_mu(budget)
    trial = _Trial(
        method,
        fixed,
        *split_validation(ratings, validation_share, split),
        budget_for(mu * math.sqrt(1.0 - score_share), budget.delta),
        budget_for(mu * math.sqrt(score_share), budget.delta),
        start,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each would tell that there was a trial
        best = trial.run(drawn.draw())
        for _ in range(draw_trials(selection.mean_trials) - 1):
            other = trial.run(drawn.draw())
            # Equal scores are as good as impossible; the first one stands then, which is no rank of its own.
            best = other if other.score.total < best.score.total else best
    return _released(best, selection, budget, earlier)


def enter_search(
    ledger: LedgerFile,
    method: Method,
    budget: Budget,
    mean_trials: float = 10.0,
    model: str | None = None,
    score_share: float = 0.1,
) -> LedgerRun:
    """Reserve a search in a ledger before the ratings are read; for the ``ledger`` of :func:`tune`.

    Parameters
    ----------
    model
        Name or place of the model it will end in.
    """
    price = _price(_selection(mean_trials, score_share), budget)
    name = method.public_half.name
    kept = None if model is None else Path(model).name or None
    return ledger.begin(budget, price, method=name, adaptive=True, model=kept)


def _price(selection: Selection, budget: Budget) -> Price:
    """What a whole search reserves in a ledger, and is charged there."""
    return Price(
        kind="selection",
        mu=selection.trial_mu(budget),
        epsilon=budget.epsilon,
        delta=budget.delta,
        mean_trials=selection.mean_trials,
    )


def _paid(ledger: AnyLedger, method: Method, selection: Selection, budget: Budget) -> EarlierRuns:
    """Charge the whole search and end its entry: when the last trial ends is not to be read off the file."""
    price, name = _price(selection, budget), method.public_half.name
    with open_run(ledger, budget, price, method=name, adaptive=True) as run:
        run.pay("the best of a random number of trials", price, last=True)
        return run.earlier


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
        side, mu = fitted.model_.item_side, gate.ledger.remaining_mu
        score = release_score(gate, "score of the model", side, self.training, self.validation, mu=mu)
        return _Outcome(settings, score, fitted, gate.ledger)


def _released(best: _Outcome, selection: Selection, budget: Budget, earlier: EarlierRuns | None) -> Tuned:
    if best.fitted is None or best.ledger is None:
        raise BudgetInvalid(
            f"no trial gave a model, and the budget ({budget}) has been spent. One of them said: {best.refusal}"
        )
    statement = Statement.from_selection(
        best.fitted.statement_, best.ledger, selection, budget, public=_PUBLIC
    )
    model = replace(best.fitted.model_, statement=statement.with_earlier(earlier))
    return Tuned(
        model, model.statement, best.settings, best.score.value, best.fitted.rank_, best.fitted.rounds_
    )


def _selection(mean_trials: float, score_share: float) -> Selection:
    try:
        return Selection(mean_trials=mean_trials, score_share=score_share)
    except ValidationError as error:
        wrong = "; ".join(f"{item['loc'][0]}: {item['msg']}" for item in error.errors())
        raise SettingsInvalid(
            f"{wrong}. The number of trials is drawn at random with a mean above 1; the score's share is below 1"
        ) from None


def _checked_space(method: Method, entries: Mapping[str, Any], fixed: dict[str, Any], sampler: str) -> Space:
    """The space, after every end of it made a method: a mistake must not cost a budget."""
    if not (isinstance(method, type) and issubclass(method, PrivateMethod)):
        raise SettingsInvalid(
            f"{method!r} is not a private method; tuning one that is not private needs no budget"
        )
    if sampler != "random":
        raise SettingsInvalid(
            f"sampler {sampler!r}: settings must be drawn at random and independently of what earlier trials found; a "
            "sampler that learns from them (TPE and the like) is not covered by the privacy proof"
        )
    space = Space(entries)
    both = sorted(set(space) & set(fixed))
    if both:
        raise SettingsInvalid(f"{', '.join(both)}: either searched or fixed, not both")
    if "discover_share" in {*space, *fixed}:
        raise SettingsInvalid("discover_share: tuning needs a public catalogue, and has nothing to discover")
    for key, value in space.ends():
        method(**fixed, **{key: value})
    return space


def _check_data(method: Method, ratings: Ratings, budget: Budget, validation_share: float) -> None:
    if not isinstance(budget, Budget):
        raise BudgetInvalid("tuning needs budget=discreet.Budget(epsilon=..., delta=...)")
    if not 0.0 < validation_share < 1.0:
        raise SettingsInvalid(f"validation_share must lie between 0 and 1, not {validation_share!r}")
    if ratings.catalogue is None:
        raise CatalogueMissing(
            "tuning needs a public catalogue: discovering one takes part of delta in every trial, which the proof for "
            "many trials does not cover. Discover one in a run of its own, and give it here"
        )
    method.public_half.check_features(ratings.catalogue.features is not None)
