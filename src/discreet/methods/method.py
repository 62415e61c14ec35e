"""Base class of all private methods: two halves, a budget, and a model with its statement at the end."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings, Place, place_of
from discreet.errors import BudgetInvalid, CatalogueMissing, SettingsInvalid
from discreet.methods.checks import check_items, check_ratings
from discreet.methods.log import noted, told
from discreet.methods.private_half import PrivateHalf
from discreet.methods.public.half import Facts, PublicHalf, PublicRun
from discreet.methods.public.parameters import Estimator
from discreet.methods.public.protocol import Engine, Progress, Release, run_protocol
from discreet.methods.public.query import Query, Trained
from discreet.methods.public.settings import PrivateSettings
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger

if TYPE_CHECKING:
    from discreet.engines.cluster import Cluster
    from discreet.methods.checkpoint import Checkpoint
    from discreet.model import Model
    from discreet.privacy.account.ledger_file import AnyLedger
    from discreet.privacy.costs import EarlierRuns, Price
    from discreet.privacy.statement import Statement

__all__ = ["PrivateMethod", "asking"]


def asking(engine: Engine, gate: Gate) -> Callable[[Query[Any]], Release]:
    """What answers a query: the engine's exact totals, through the gate. Nothing else from ratings reaches a method."""

    def released(query: Query[Any]) -> Release:
        known = gate.recall(query.name, mu=query.mu)
        if known is not None:
            return known
        return gate.release_totals(query.name, query.mechanism.empty(), engine.totals(query), mu=query.mu)

    return released


class PrivateMethod(Estimator):
    """A method that spends a budget. Subclasses name their two halves; parameters are the public half's settings.

    Attributes
    ----------
    public_half
        What the method asks: a generator over public facts and releases.
    private_half
        What users answer.
    gpu_half
        Where the same answers computed on a GPU are, as ``module:Class``; ``None``: there are no kernels for them.
    model_ : Model
        What is released. The fitted object keeps nothing else of the ratings.
    statement_ : Statement
        The model's privacy statement.
    rank_, rounds_ : int
        Factors and rounds of the model.

    Notes
    -----
    **Privacy**. Everything learnt from ratings passes the gate: the driver (:mod:`discreet.methods.public.protocol`)
    takes a query, an engine adds up exact integer contributions of users who are each bounded, the gate adds noise
    and charges, and the public half is sent the release and nothing else.
    """

    public_half: ClassVar[PublicHalf]
    private_half: ClassVar[type[PrivateHalf]]
    gpu_half: ClassVar[str | None] = None

    model_: Model
    statement_: Statement
    rank_: int
    rounds_: int

    def __init_subclass__(cls, **options: Any) -> None:
        if "public_half" in vars(cls):
            cls.settings_type = cls.public_half.settings_type
        super().__init_subclass__(**options)

    @classmethod
    def method_name(cls) -> str:
        """On the command line, in agreements and in saved models."""
        return cls.public_half.name

    @property
    def settings(self) -> PrivateSettings:
        """The parameters as checked settings."""
        settings: PrivateSettings = super().settings
        return settings

    def fit(
        self,
        ratings: AnyRatings,
        budget: Budget,
        *,
        rng: np.random.Generator | int | None = None,
        progress: Progress | None = None,
        noise: Noise | None = None,
        start: Model | None = None,
        start_is_public: bool = False,
        ledger: AnyLedger | None = None,
        device: str = "cpu",
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
        engine: Cluster | str | None = None,
    ) -> Self:
        """Train within a budget.

        Parameters
        ----------
        ratings
            With a public catalogue, or without one if ``discover_share`` is set; in memory, or prepared on disk
            (:func:`discreet.data.prepare`), which changes no bit of the model.
        budget
            What the run may spend.
        rng
            Ordinary randomness (the start of the factors). Never the privacy noise.
        progress
            Called with (stage, done, total).
        noise
            Leave it out; see :meth:`discreet.privacy.gaussian.noise.Noise.fixed_key_not_private`.
        start
            An earlier model of the same method and goal, as the start and the prior; its catalogue may be another. The
            statement is about both runs together, and names what either cost alone. If it is not private, neither is
            what comes out.
        start_is_public
            Whether the ratings that ``start`` was trained on are public, so that nobody pays for it.
        ledger
            Of the data set: a file (:class:`discreet.LedgerFile`, or its path) that keeps what all runs on it cost.
            Its cap is asked before the ratings are used, and every charge is on the disk before its noise is drawn.
        device
            ``"cpu"``, or ``"cuda"`` for a GPU (extra ``gpu``). The promise is the same; the model may differ in what
            rounding makes of some users' last grid step (``privacy/gaussian/proofs/gpu.md``).
        checkpoint
            A folder to keep the run in, release by release. Killed at any moment, the same call goes on where it was:
            nothing is drawn twice, and nothing paid twice. It is left there at the end; remove it then.
        engine
            ``"ray"`` or a :class:`discreet.engines.cluster.Cluster`: prepared ratings are added up by the processes
            of a Ray cluster (extra ``ray``), which changes no bit of the model. Leave it out to compute here.
        """
        check_ratings(ratings)
        place = self._place(ratings, engine, device)
        if not isinstance(budget, Budget):
            raise BudgetInvalid("a private method needs budget=discreet.Budget(epsilon=..., delta=...)")
        if noise is not None and (ledger is not None or checkpoint is not None):
            raise SettingsInvalid(
                "a ledger and a checkpoint take runs with the package's own noise alone; leave noise out"
            )
        outside = PublicRun(self.public_half, self.settings, budget, start, start_is_public)
        progress = noted(progress)
        with ExitStack() as held:
            held.enter_context(told(self.method_name(), budget))
            held.enter_context(place.connect())
            if ledger is None and checkpoint is None:
                return self._fit(ratings, outside, rng, progress, Gate(Ledger(budget), noise), place)
            from discreet.methods.checkpoint import recorded

            run = recorded(held, self, ratings, outside, rng, ledger, checkpoint)
            fitted = self._fit(ratings, outside, run.rng, progress, run.gate, place, run.id, run.earlier)
            if run.entry is not None:
                run.entry.end()
            return fitted

    def _place(self, ratings: AnyRatings, engine: Cluster | str | None, device: str) -> Place:
        """Where a run computes, checked."""
        return place_of(self.private_half, self.gpu_half, self.method_name(), engine, device, ratings)

    def price(self, budget: Budget, *, discovers: bool = False) -> Price:
        """What a run may cost in a ledger; ``discovers``: it finds its own catalogue, which takes part of delta."""
        return PublicRun(self.public_half, self.settings, budget).price(discovers=discovers)

    def _fit(
        self,
        ratings: AnyRatings,
        outside: PublicRun,
        rng: np.random.Generator | int | None,
        progress: Progress | None,
        gate: Gate,
        place: Place,
        run: str | None = None,
        earlier: EarlierRuns | None = None,
    ) -> Self:
        half, settings, generator = self.public_half, outside.settings, np.random.default_rng(rng)
        outside.check(ratings.catalogue)
        found = ratings.catalogue is None
        if found:
            assert isinstance(ratings, Ratings)
            ratings = _discover(gate, ratings, settings)
        catalogue = ratings.catalogue
        assert catalogue is not None
        check_items(ratings.n_items)
        facts = outside.facts(catalogue, ratings.scale, gate)
        self._begin(settings, facts)
        answer = asking(place.engine(ratings, progress), gate)
        trained = run_protocol(half, settings, facts, generator, answer, progress)
        domain = ratings.rules.domain(explicit=ratings.explicit, listed=True)
        model = outside.model(trained, catalogue, gate.ledger, domain, found=found, run=run, earlier=earlier)
        return self._learnt(trained, model)

    def _begin(self, settings: PrivateSettings, facts: Facts) -> None:
        """What a method notes down before its first query; public."""

    def _learnt(self, trained: Trained, model: Model) -> Self:
        self.rank_, self.rounds_ = trained.side.rank, trained.rounds
        self.model_, self.statement_ = model, model.statement
        return self


def _discover(gate: Gate, ratings: Ratings, settings: PrivateSettings) -> Ratings:
    if settings.discover_share is None:
        raise CatalogueMissing(
            "the items a private model speaks about must be public: give the ratings a catalogue, or spend part "
            "of the budget on finding them with discover_share=0.1 (--discover-items on the command line)"
        )
    from discreet.methods.discovery import discover_catalogue

    return discover_catalogue(gate, ratings, settings.discover_share)
