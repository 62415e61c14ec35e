"""How good a model is on held-out rows: lists, dislikes, and errors of predicted ratings.

Lists and predictions are made from each user's own history, a block of users at a time; the users may or may not have
been in training. Evaluating on private test data is not covered by the model's privacy statement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import RatingScale, as_ids
from discreet.data import StoredRatings
from discreet.data.ratings import Ratings
from discreet.errors import HistoryInvalid, RatingsInvalid, SettingsInvalid
from discreet.evaluation import metrics
from discreet.evaluation.result import Evaluation, Holder, Measured, covered, list_names, mean_of, pooled
from discreet.model import Model
from discreet.types import Bools, Floats, Ints

__all__ = ["AnyRatings", "Only", "evaluate", "no_errors", "pairs", "relevance"]

Only: TypeAlias = Literal["errors", "rankings"]
AnyRatings: TypeAlias = Ratings | StoredRatings
"""Ratings in memory, or prepared on disk."""
Progress: TypeAlias = Callable[[str, int, int], None]

_FIFTHS = 0.4
_OF_DISLIKED = ("disliked", "auc")
_BLOCK_USERS, _BLOCK_PLACES = 8192, 1 << 22


def evaluate(
    model: Model,
    test: AnyRatings,
    *,
    history: AnyRatings,
    k: int = 20,
    relevant: float | None = None,
    only: Only | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Compare the lists and predictions of a model with what people went on to do.

    Parameters
    ----------
    test
        What is looked for; its rows must not be in ``history``.
    history
        What each user did before, from which they get their list, without what they have. A test user who is not in
        it gets the list of an empty history. Popularity is counted here.
    k
        Length of the lists.
    relevant
        From which rating up a test row should come back; the upper two fifths of the rating range if left out (4 and
        5 of 1 to 5). The lower two fifths are disliked. Clicks are all relevant.
    only
        ``"errors"`` of predicted ratings alone, or ``"rankings"`` alone.
    progress
        Called with (stage, users done, users).

    Notes
    -----
    **Privacy.** What comes back depends on the ratings without any noise: for their holder alone.
    """
    if k < 1:
        raise SettingsInvalid(f"the number of items to rank must be at least 1, not {k}")
    if only == "errors" and model.goal == "rank":
        raise SettingsInvalid(f"{no_errors(test.explicit)}; evaluate its lists")
    bounds = relevance(test.scale, relevant)
    found = _Found(model, history, k, bounds, lists=only != "errors", errors=only != "rankings")
    for past, held_out in pairs(model, history, test):
        for before, after in _blocks(past, held_out, min(k, len(model.catalogue))):
            found.add(before, after)
            if progress is not None:
                progress("people", found.users, test.n_users)
    return found.evaluation(test)


def no_errors(explicit: bool) -> str:
    """Why a model has no errors of predicted ratings."""
    if explicit:
        return 'this model ranks; it does not predict ratings: train with --goal rate (in Python goal="rate")'
    return "the model was trained without ratings, so it predicts none"


def relevance(scale: RatingScale, relevant: float | None = None) -> tuple[float, float] | None:
    """From which rating up a test row should come back, and up to which it should not; ``None``: clicks all should.

    Examples
    --------
    >>> relevance(RatingScale((1.0, 5.0)))
    (3.4, 2.6)
    """
    if scale.range is None:
        if relevant is not None:
            raise SettingsInvalid(
                "these are clicks, and every row of the test is relevant; leave out relevant (--relevant)"
            )
        return None
    low, high = scale.range
    if relevant is None:
        relevant = high - _FIFTHS * (high - low)
    if not low <= relevant <= high:
        raise SettingsInvalid(
            f"relevant (--relevant) is {relevant:g}, outside the rating range {scale}; give a rating of the range"
        )
    return float(relevant), low + _FIFTHS * (high - low)


def pairs(model: Model, history: AnyRatings, test: AnyRatings) -> Iterator[tuple[Ratings, Ratings]]:
    """Every user of the test once: what they did before, and their test, in the same rows.

    `HistoryInvalid` comes after the last pair, if nobody had a history: the files have other user ids.
    """
    found, example = 0, None
    for past, held_out in _parts(history, test):
        for part in (past, held_out):
            model.check_histories(part)
        rows = past.for_users(held_out.user_ids)
        found += rows.n_ratings
        if example is None and past.n_users and held_out.n_users:
            example = (held_out.user_ids[0], past.user_ids[0])
        if found or not held_out.n_users or not isinstance(history, Ratings):
            yield rows, held_out
    if test.n_users and found == 0:
        words = "" if example is None else ": user ids such as {!r} are looked for among ids such as {!r}"
        raise HistoryInvalid(
            f"none of the {test.n_users} test users has a history{words.format(*example or ())}; both files need the "
            "same user ids"
        )


def _parts(history: AnyRatings, test: AnyRatings) -> Iterator[tuple[Ratings, Ratings]]:
    """Whole in memory, or a block at a time from disk."""
    if isinstance(history, Ratings) and isinstance(test, Ratings):
        yield history, test
        return
    if isinstance(history, Ratings) or isinstance(test, Ratings):
        raise RatingsInvalid("the history and the test must both be in memory, or both be prepared on disk")
    if history.dealt != test.dealt:
        raise RatingsInvalid(
            f"{history.folder} and {test.folder} were not prepared to be read side by side; prepare the test again, "
            "with alike=history"
        )
    for number in range(history.dealt):
        held_out = test.users_dealt(number)
        if held_out is not None:
            past = history.users_dealt(number)
            yield held_out.take_users(slice(0, 0)) if past is None else past, held_out


def _blocks(history: Ratings, test: Ratings, k: int) -> Iterator[tuple[Ratings, Ratings]]:
    size = max(1, min(_BLOCK_USERS, _BLOCK_PLACES // max(k, 1)))
    for start in range(0, test.n_users, size):
        users = slice(start, start + size)
        yield history.take_users(users), test.take_users(users)


class _Shown:
    """Which items are in how many lists, and whose the last one was."""

    def __init__(self, n_items: int) -> None:
        self._lists = np.zeros(n_items, dtype=np.int64)
        self._last = np.zeros(n_items, dtype=np.int64)

    def add(self, ranking: npt.NDArray[np.int32], users: Ints) -> None:
        there = ranking >= 0
        items = ranking[there]
        self._lists += np.bincount(items, minlength=len(self._lists))
        self._last[items] = np.broadcast_to(users[:, np.newaxis], ranking.shape)[there]

    def coverage(self, with_list: Floats) -> Measured:
        """``with_list``: which users were given a list that counts."""
        alone = np.bincount(self._last[self._lists == 1], minlength=len(with_list))
        return covered(self._lists > 0, alone[with_list > 0].astype(np.float64))


class _Found:
    """Numbers of each user, block after block."""

    def __init__(
        self,
        model: Model,
        history: AnyRatings,
        k: int,
        bounds: tuple[float, float] | None,
        *,
        lists: bool,
        errors: bool,
    ) -> None:
        self._model, self._k, self._bounds = model, k, bounds
        self._lists, self._errors = lists, errors and model.goal == "rate"
        self._counts, self._people, total = np.zeros(history.n_items), 0, 0.0
        for part in (history,) if isinstance(history, Ratings) else history.blocks():
            self._counts += np.bincount(part.items, minlength=history.n_items)
            self._people += int(np.count_nonzero(np.diff(part.indptr)))
            total += float(part.values.sum())
        self._overall = total / max(history.n_ratings, 1)
        self._shown = {way: _Shown(len(model.catalogue)) for way in ("model", "popularity")}
        self._columns: dict[tuple[str, str], list[Floats]] = defaultdict(list)
        self._ids: list[npt.NDArray[np.generic]] = []
        self._repeated = 0
        self.users = 0

    def add(self, history: Ratings, test: Ratings) -> None:
        """A block of users: what they did before, and their test, in the same rows."""
        liked, disliked = self._masks(test)
        owners = np.repeat(np.arange(test.n_users), np.diff(test.indptr))
        self._ids.append(test.user_ids)
        self._repeated += _repeats(history, test, owners)
        self._keep("people", relevant=_count(owners, liked, test), disliked=_count(owners, disliked, test))
        order = None
        if self._errors or (self._lists and disliked.any()):
            order, predicted = self._model.score_pairs(history, test.indptr, test.items)
            if self._errors:
                self._add_errors(history, test, predicted, owners)
        if self._lists:
            good, bad = test.keep(liked), test.keep(disliked)
            lists = {
                "model": self._model.top_items(history, self._k),
                "popularity": metrics.rank_by_count(self._counts, history, self._k),
            }
            scores = {} if order is None else {"model": order, "popularity": self._counts[test.items]}
            nobody = np.full(test.n_users, np.nan)
            for way, ranking in lists.items():
                self._add_lists(way, ranking, good, bad)
                aucs = metrics.aucs(scores[way], test.indptr, liked, disliked) if scores else nobody
                self._keep(way, auc=aucs)
        self.users += test.n_users

    def _add_lists(self, way: str, ranking: npt.NDArray[np.int32], good: Ratings, bad: Ratings) -> None:
        counted = np.flatnonzero(np.diff(good.indptr))
        novelty = np.full(good.n_users, np.nan)
        novelty[counted] = metrics.novelties(ranking[counted], self._counts, self._people)
        told = metrics.list_metrics(ranking, good.indptr, good.items, self._k)
        disliked = metrics.recalls(ranking, bad.indptr, bad.items, self._k)
        self._keep(way, **told, novelty=novelty, disliked=disliked)
        self._shown[way].add(ranking[counted], self.users + counted)

    def _masks(self, test: Ratings) -> tuple[Bools, Bools]:
        if self._bounds is None:
            every = np.ones(test.n_ratings, dtype=np.bool_)
            return every, ~every
        liked = test.values >= self._bounds[0]
        return liked, ~liked & (test.values <= self._bounds[1])

    def _add_errors(self, history: Ratings, test: Ratings, predicted: Floats, owners: Ints) -> None:
        own = np.repeat(metrics.user_means(history, self._overall), np.diff(test.indptr))
        wrong = predicted - test.values
        for name, rows in {
            "rows": np.ones(len(wrong)),
            "squares": np.square(wrong),
            "sizes": np.abs(wrong),
            "global_mean": np.square(self._overall - test.values),
            "user_mean": np.square(own - test.values),
        }.items():
            self._keep("errors", **{name: np.bincount(owners, rows, test.n_users).astype(np.float64)})

    def _keep(self, way: str, **columns: Floats) -> None:
        for name, column in columns.items():
            self._columns[way, name].append(column)

    def _column(self, way: str, name: str) -> Floats:
        parts = self._columns[way, name]
        return np.concatenate(parts) if parts else np.empty(0)

    def _error_metrics(
        self, per_user: dict[str, object]
    ) -> tuple[dict[str, Measured], Measured | None, Measured | None]:
        """Errors, and those of the two means; each person's own are written beside them."""
        if not self._errors:
            return {}, None, None
        squares, sizes, rows = (self._column("errors", name) for name in ("squares", "sizes", "rows"))
        with np.errstate(invalid="ignore"):
            per_user |= {"rmse": np.sqrt(squares / rows), "mae": sizes / rows}
        means = (self._column("errors", name) for name in ("global_mean", "user_mean"))
        global_mean, user_mean = (pooled(mean, rows, root=True) for mean in means)
        return {"rmse": pooled(squares, rows, root=True), "mae": pooled(sizes, rows)}, global_mean, user_mean

    def _measured(self, way: str, name: str, relevant: Floats) -> Measured:
        if name == "coverage":
            return self._shown[way].coverage(relevant)
        return mean_of(self._column(way, _short(name)), np.inf if name == "novelty" else 1.0)

    def evaluation(self, test: AnyRatings) -> Evaluation:
        """All of it."""
        relevant, disliked = self._column("people", "relevant"), self._column("people", "disliked")
        ids = np.concatenate(self._ids) if self._ids else np.empty(0, dtype=object)
        per_user: dict[str, object] = {"user": as_ids(ids), "relevant": relevant.astype(np.int64)}
        if test.explicit:
            per_user["disliked"] = disliked.astype(np.int64)
        found, global_mean, user_mean = self._error_metrics(per_user)
        names = [name for name in list_names(self._k) if test.explicit or not name.startswith(_OF_DISLIKED)]
        names = names if self._lists else []
        found |= {name: self._measured("model", name, relevant) for name in names}
        popularity = {name: self._measured("popularity", name, relevant) for name in names}
        per_user |= {name: self._column("model", _short(name)) for name in names if name != "coverage"}
        return Evaluation(
            goal=self._model.goal,
            k=self._k,
            relevant=None if self._bounds is None else self._bounds[0],
            disliked=None if self._bounds is None else self._bounds[1],
            users=test.n_users,
            ratings=test.n_ratings,
            metrics=found,
            popularity=popularity,
            global_mean=global_mean,
            user_mean=user_mean,
            holder=Holder(
                with_relevant=int(np.count_nonzero(relevant)),
                with_disliked=int(np.count_nonzero(disliked)),
                with_both=int(np.count_nonzero((relevant > 0) & (disliked > 0))),
                also_in_history=self._repeated,
            ),
            per_user=pl.DataFrame(per_user).fill_nan(None),
        )


def _short(name: str) -> str:
    """A metric without how long the lists are."""
    return name.partition("@")[0]


def _count(owners: Ints, mask: npt.NDArray[np.bool_], test: Ratings) -> Floats:
    return np.bincount(owners[mask], minlength=test.n_users).astype(np.float64)


def _repeats(history: Ratings, test: Ratings, owners: Ints) -> int:
    """How many test rows the same user's history has too."""
    past = np.repeat(np.arange(history.n_users), np.diff(history.indptr)) * test.n_items + history.items
    return int(metrics.among(owners * test.n_items + test.items, past).sum())
