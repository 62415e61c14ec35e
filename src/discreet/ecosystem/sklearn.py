"""A private recommender in scikit-learn's clothes: in a pipeline it is fitted once, and makes users into vectors.

**Privacy.** Every fit on people's ratings costs a budget. A grid search fits dozens of times on the same people, and
the promise of the last model would be false about all the others. So there is no ``score`` to search by, an estimator
and its clones may be fitted once between them, and one that came from another process not at all: a further fit is
refused, unless a ledger is given, which pays for each and refuses what is too much. To search settings privately,
:func:`discreet.tune` pays for the whole search at once.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin

from discreet.data.ratings import CatalogueSource, Ratings
from discreet.ecosystem.frames import histories
from discreet.errors import BudgetExceeded, NotFitted, SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.registry import find_method
from discreet.model import Model
from discreet.privacy.account.ledger_file import AnyLedger
from discreet.privacy.budget import Budget
from discreet.types import Floats

__all__ = ["PrivateRecommender"]


class PrivateRecommender(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A private method as a transformer (from histories to user vectors) and recommender (``predict``).

    Parameters
    ----------
    method
        Name of a private method, and its ``settings`` as a mapping.
    user, item, rating, rating_range
        Columns of the frames that are handed in; without a rating column the feedback is implicit.
    n
        Items that ``predict`` gives each user.
    ledger
        Of the data set, as in :meth:`discreet.PrivateMethod.fit`; with one, an estimator may be fitted again.
    random_state
        Of ordinary randomness, never of the privacy noise.

    Notes
    -----
    **Privacy**. Only ``model_`` is covered by its statement, and nothing else of the ratings is kept. Vectors and lists
    are made of people's own rows, and are theirs: what a later step learns from the vectors of several people
    (``KMeans``, a regression) is covered by no promise, whatever ``epsilon`` is.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        catalogue: CatalogueSource = None,
        method: str = "budgeted",
        settings: dict[str, Any] | None = None,
        user: str = "user",
        item: str = "item",
        rating: str | None = None,
        rating_range: tuple[float, float] | None = None,
        n: int = 10,
        ledger: AnyLedger | None = None,
        random_state: int | None = None,
    ) -> None:
        self.epsilon, self.delta, self.catalogue = epsilon, delta, catalogue
        self.method, self.settings = method, settings
        self.user, self.item, self.rating, self.rating_range = user, item, rating, rating_range
        self.n, self.ledger, self.random_state = n, ledger, random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train on a frame with one row for each rating, within the budget; ``y`` is there for pipelines."""
        method = find_method(self.method)
        if not issubclass(method, PrivateMethod):
            raise SettingsInvalid(
                f"{self.method} is not private; use its own class, or one of the private methods"
            )
        ratings = Ratings.from_frame(
            X,
            user=self.user,
            item=self.item,
            rating=self.rating,
            rating_range=self.rating_range,
            catalogue=self.catalogue,
        )
        self._pay()
        budget = Budget(self.epsilon, self.delta)
        trained = method(**(self.settings or {})).fit(
            ratings, budget, rng=self.random_state, ledger=self.ledger
        )
        self.model_: Model = trained.model_
        self.n_features_in_ = self.model_.item_side.n_items  # what was released, not what the ratings have
        return self

    def transform(self, X: Any) -> Floats:
        """A vector for each user in the frame, by user id: 1 + rank numbers, from their own rows."""
        read = self._histories(X)
        return self._model().factors.fold_in(read.indptr, read.items, read.values)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The ``n`` best items for each user in the frame, from their own rows: users x n, None where none is left."""
        read = self._histories(X)
        batch = self._model().recommend_batch(read, self.n)
        return np.asarray(batch["item"].to_list(), dtype=object).reshape(-1, self.n)

    def users(self, X: Any) -> npt.NDArray[Any]:
        """Whose the rows of ``transform`` and ``predict`` are."""
        return self._histories(X).user_ids

    def __sklearn_clone__(self) -> Self:
        copy = type(self)(**self.get_params(deep=False))
        copy._fits = self._shared_fits()
        return copy

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state["_fits"] = [1]  # elsewhere nobody knows how often the others were fitted
        return state

    def _histories(self, X: Any) -> Ratings:
        return histories(self._model(), X, user=self.user, item=self.item, rating=self.rating)

    def _model(self) -> Model:
        if not self.__sklearn_is_fitted__():
            raise NotFitted("this PrivateRecommender has not been fitted; call fit(ratings) first")
        return self.model_

    def _shared_fits(self) -> list[int]:
        """How often this estimator and its clones were fitted without a ledger: one list for all of them."""
        fits: list[int] = self.__dict__.setdefault("_fits", [0])
        return fits

    def _pay(self) -> None:
        """Refuse a fit that no promise would cover."""
        if self.ledger is not None:
            return
        fits = self._shared_fits()
        if fits[0]:
            raise BudgetExceeded(
                "this estimator, or a copy of it, may have been fitted before: each fit on the same people costs "
                f"epsilon {self.epsilon:g} again. To search settings use discreet.tune, which pays for all; "
                "to train again give a ledger (ledger='people.ledger'), which adds everything up"
            )
        fits[0] += 1
