"""What all private central methods share: a budget, a gate, a catalogue, and a model with its statement at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import BudgetInvalid, CatalogueMissing
from discreet.methods.checks import check_items
from discreet.methods.discovery import discover_catalogue
from discreet.methods.settings import PrivateSettings
from discreet.model import Model
from discreet.model.item_side import ItemSide
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import Statement

__all__ = ["PrivateMethod", "Progress", "Trained"]

Progress = Callable[[str, int, int], None]
S = TypeVar("S", bound=PrivateSettings)


class Trained(NamedTuple):
    """What a method's training hands back: the item side, and how many rounds it took."""

    side: ItemSide
    rounds: int


class PrivateMethod(ABC, Generic[S]):
    """A central method that spends a budget.

    Attributes
    ----------
    model_ : Model
        What is released. The fitted object keeps nothing else of the ratings.
    statement_ : Statement
        The model's privacy statement.
    rank_, rounds_ : int
        Factors and rounds of the model.
    """

    name: ClassVar[str]
    settings_type: type[S]
    adaptive: ClassVar[bool] = False
    """Whether number or cost of the releases may follow from earlier releases (see `Statement.from_ledger`)."""
    public: ClassVar[tuple[str, ...]] = ("all settings",)
    """What this method takes as public beside the item catalogue and the rating range."""

    model_: Model
    statement_: Statement
    rank_: int
    rounds_: int

    def __init__(self, **settings: Any) -> None:
        self.settings: S = self.settings_type.checked(**settings)

    def fit(
        self,
        ratings: Ratings,
        budget: Budget,
        *,
        rng: np.random.Generator | int | None = None,
        progress: Progress | None = None,
        noise: Noise | None = None,
    ) -> Self:
        """Train within a budget.

        Parameters
        ----------
        ratings
            With a public catalogue, or without one if ``discover_share`` is set.
        budget
            What the run may spend.
        rng
            Ordinary randomness (the start of the factors). Never the privacy noise.
        progress
            Called with (stage, done, total).
        noise
            Leave it out; see :meth:`discreet.privacy.gaussian.noise.Noise.fixed_key_not_private`.
        """
        if not isinstance(budget, Budget):
            raise BudgetInvalid("a private method needs budget=discreet.Budget(epsilon=..., delta=...)")
        generator = np.random.default_rng(rng)
        gate = Gate(Ledger(budget), noise)
        public: tuple[str, ...] = ("the item catalogue", "the rating range", *self.public)
        if ratings.catalogue is None:
            ratings, public = self._discover(gate, ratings), public[1:]
        assert ratings.catalogue is not None
        check_items(ratings.n_items)
        trained = self._train(ratings, gate, generator, progress)
        self.rank_, self.rounds_ = trained.side.rank, trained.rounds
        self.statement_ = Statement.from_ledger(
            gate.ledger, public=public, fixed_noise_key=gate.fixed_noise, adaptive=self.adaptive
        )
        self.model_ = Model(trained.side, ratings.catalogue, self.statement_, self.name, self._described())
        return self

    @abstractmethod
    def _train(
        self, ratings: Ratings, gate: Gate, rng: np.random.Generator, progress: Progress | None
    ) -> Trained:
        """Spend what the gate's ledger has left. Everything that leaves passes the gate."""

    def _described(self) -> dict[str, Any]:
        """Settings as they go into the model's files."""
        return self.settings.model_dump(mode="json")

    def _discover(self, gate: Gate, ratings: Ratings) -> Ratings:
        share = self.settings.discover_share
        if share is None:
            raise CatalogueMissing(
                "the items a private model speaks about must be public: give the ratings a catalogue, or spend part "
                "of the budget on finding them with discover_share=0.1 (--discover-items on the command line)"
            )
        return discover_catalogue(gate, ratings, share)


def report(progress: Progress | None, done: int, total: int) -> None:
    """Tell whoever watches."""
    if progress is not None:
        progress("training", done, total)
