"""The public half of a private method: a generator that asks and is sent what was released. Sees no ratings.

Beside it what a run has outside of the gate: what is public before the first query, and the model at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet.catalogue import Catalogue, ItemFeatures, RatingScale
from discreet.errors import SettingsInvalid
from discreet.methods.public.query import Query, Trained
from discreet.methods.public.settings import PrivateSettings
from discreet.model import Model
from discreet.model.item_weights import ItemWeights
from discreet.model.start import EarlierSums, Start, sums_of
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried, EarlierRuns, Price
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import Statement

__all__ = [
    "Facts",
    "PublicHalf",
    "PublicRun",
    "Queries",
    "Train",
    "carried_by",
    "check_features",
    "described",
]


@dataclass
class Facts:
    """What is public before the first query.

    Parameters
    ----------
    n_items, scale
        Of the public catalogue and of the ratings.
    budget
        For the words of a refusal, and the check of delta against the number of users.
    mu
        Gaussian cost that all queries together may have.
    spent_mu, spent_delta
        What was spent before the first query, on finding a catalogue.
    noise_excess
        How many times larger the noise is than a query's ``mu`` asks for, as of the last release: above 1 where
        more silos add a share than need to, or where a round was paid for twice. Estimates are then shrunk more.
    features
        Of the items of the catalogue, where there are any and the method uses them.
    start
        What an earlier model says about these items, where the run starts from one.
    earlier
        The sums that an earlier table of weights has released about them, where the run adds to those.
    """

    n_items: int
    scale: RatingScale
    budget: Budget
    mu: float
    noise_excess: float = 1.0
    spent_mu: float = 0.0
    spent_delta: float = 0.0
    features: ItemFeatures | None = None
    start: Start | None = None
    earlier: EarlierSums | None = None


Queries: TypeAlias = Generator[Query[Any], Any, Trained]
Train: TypeAlias = Callable[[Any, Facts, np.random.Generator], Queries]


def _many(settings: Any, n_items: int) -> int:
    """More than a method with a few hundred numbers an item needs."""
    return 1_000_000 + 2_000 * n_items


def check_features(method: str, *, used: bool, given: bool) -> None:
    """Refuse features of items that a method would leave unused: whoever gives them expects them to matter."""
    if given and not used:
        raise SettingsInvalid(
            f"{method} does not use item features; leave out --features (in Python, give a catalogue without them)"
        )


@dataclass(frozen=True)
class PublicHalf:
    """What a method asks, and what it makes of the releases.

    Parameters
    ----------
    name
        On the command line, in agreements and in saved models.
    settings_type
        Its checked settings.
    train
        The generator: called with settings, facts and ordinary randomness; yields queries, is sent what the
        query's mechanism reads from the release, and returns the item side. The same arguments and releases must
        give the same queries to the last bit: a restart is a replay.
    queries
        All kinds of query that it asks, so that one can be read back from a message.
    adaptive
        Whether number or cost of the releases may follow from earlier releases (see `Statement.from_ledger`).
    public
        What it takes as public beside the item catalogue and the rating range.
    makes_lists
        Whether the model makes lists and predicts no ratings, also where there are some.
    numbers
        Called with settings and the number of items: no query together with a release has more numbers.
    uses_features
        Whether it makes use of :attr:`Facts.features`.
    uses_start
        Whether it makes use of :attr:`Facts.start`, or of :attr:`Facts.earlier`.
    """

    name: str
    settings_type: type[PrivateSettings]
    train: Train
    queries: tuple[type[Query[Any]], ...]
    adaptive: bool = False
    public: tuple[str, ...] = ("all settings",)
    makes_lists: bool = False
    numbers: Callable[[Any, int], int] = _many
    uses_features: bool = False
    uses_start: bool = False

    def check_features(self, given: bool) -> None:
        """Refuse features of items that the method would leave unused."""
        check_features(self.name, used=self.uses_features, given=given)

    def check_start(self, start: Model) -> None:
        """Refuse an earlier model that the method would leave unused, or cannot read."""
        if not self.uses_start:
            raise SettingsInvalid(
                f"{self.name} does not start from an earlier model; leave out --start (start=)"
            )
        if start.method != self.name:
            raise SettingsInvalid(
                f"the model to start from is one of {start.method}, and this is {self.name}: start from a model of the "
                "same method, which says how sure it is of each item. Public ratings can be trained on with any epsilon"
            )
        if isinstance(start.item_side, ItemWeights):
            sums_of(start)

    def public_things(self, features: Sequence[str] = ()) -> tuple[str, ...]:
        """What a statement lists as public beside the item catalogue and the rating range."""
        return (f"the items' features: {', '.join(features)}", *self.public) if features else self.public


def described(half: PublicHalf, settings: PrivateSettings, trained: Trained) -> dict[str, Any]:
    """Settings as they go into the model's files: what a rule may choose is replaced by what it chose."""
    said: dict[str, Any] = settings.model_dump(mode="json")
    chosen: dict[str, Any] = {"rank": trained.side.rank, "rounds": trained.rounds} if half.adaptive else {}
    return said | {name: value for name, value in chosen.items() if name in said}


def carried_by(catalogue: Catalogue | None, start: Model | None, *, start_is_public: bool = False) -> Carried:
    """Earlier runs that a model will carry: of its start, and of a catalogue that some run has found."""
    known = None
    if start is not None and not start_is_public:
        known = start.statement.carried(start.digest)
    return Carried.together([known, None if catalogue is None else catalogue.paid])


@dataclass(frozen=True)
class PublicRun:
    """A run as it is seen from outside of the gate.

    Parameters
    ----------
    half, settings, budget
        What is asked, and what it may cost.
    start, start_is_public
        An earlier model to start from, and whether its ratings are public, so that nobody pays for it.
    """

    half: PublicHalf
    settings: PrivateSettings
    budget: Budget
    start: Model | None = None
    start_is_public: bool = False

    def check(self, catalogue: Catalogue | None) -> None:
        """Refuse features or a start that the method would leave unused."""
        self.half.check_features(catalogue is not None and catalogue.features is not None)
        if self.start is not None:
            self.half.check_start(self.start)

    def price(self, *, discovers: bool) -> Price:
        """What it may cost in a ledger; ``discovers``: it finds its own catalogue, which takes part of delta."""
        share = self.settings.discover_share if discovers else None
        direct = 0.0 if share is None else share * self.budget.delta
        return Price(kind="gaussian", mu=self.budget.mu_for(direct), delta=direct)

    def carried(self, catalogue: Catalogue | None) -> Carried:
        """Earlier runs that the model will carry."""
        return carried_by(catalogue, self.start, start_is_public=self.start_is_public)

    def facts(self, catalogue: Catalogue, scale: RatingScale, gate: Gate) -> Facts:
        """What is public before the first query."""
        ledger, start = gate.ledger, self.start
        table = start is not None and isinstance(start.item_side, ItemWeights)
        return Facts(
            len(catalogue),
            scale,
            self.budget,
            ledger.remaining_mu,
            gate.noise_excess,
            ledger.spent_mu,
            ledger.spent_delta,
            catalogue.features,
            None if start is None or table else Start.of(start, catalogue),
            EarlierSums.of(start, catalogue) if start is not None and table else None,
        )

    def model(
        self,
        trained: Trained,
        catalogue: Catalogue,
        ledger: Ledger,
        domain: Sequence[str],
        *,
        found: bool,
        run: str | None = None,
        earlier: EarlierRuns | None = None,
    ) -> Model:
        """What is released, with its statement; ends the ledger.

        Parameters
        ----------
        found
            Whether the catalogue is this run's own first release.
        run, earlier
            Its id, and what earlier runs on the same data cost, where a ledger or a checkpoint was kept.
        """
        features = () if catalogue.features is None else catalogue.features.names
        listed = () if found or catalogue.paid is not None else ("the item catalogue",)
        public = (*listed, "the rating range", *self.half.public_things(features))
        if self.start is not None and self.start_is_public:
            named = f"model {self.start.digest[:16]}, which it started from, and the ratings that one was trained on"
            public = (*public, named)
        statement = Statement.from_ledger(
            ledger, public=public, adaptive=self.half.adaptive, domain=domain, run=run
        )
        carried = self.carried(catalogue)
        if found:
            catalogue = catalogue.found_by(statement.found_catalogue())
        statement = statement.carrying(carried).with_earlier(earlier)
        said = described(self.half, self.settings, trained)
        return Model(trained.side, catalogue, statement, self.half.name, said)
