"""What evaluation asks of a model: `discreet.Model` answers, whatever is inside it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from discreet.catalogue import Catalogue, Goal
from discreet.model import Histories
from discreet.types import Floats

__all__ = ["Recommender"]


class Recommender(Protocol):
    """Lists and scores for a block of users, each from their own history alone."""

    @property
    def catalogue(self) -> Catalogue:
        """What positions of items point into."""

    @property
    def goal(self) -> Goal:
        """``"rate"`` where predictions are ratings."""

    def check_histories(self, histories: Histories) -> None:
        """Refuse histories that the model cannot take (`HistoryInvalid`)."""

    def top_items(self, histories: Histories, n: int) -> npt.NDArray[np.int32]:
        """The ``n`` best items outside each user's history, by position; -1 where no more are left."""

    def score_pairs(
        self, histories: Histories, indptr: npt.NDArray[np.int64], items: npt.NDArray[Any]
    ) -> tuple[Floats, Floats]:
        """What orders lists, and what is predicted, of some items (compressed rows) of each user."""
