"""Base class of all private methods: two halves, a budget, and a model with its statement at the end."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings, Place, place_of
from discreet.errors import BudgetInvalid, CatalogueMissing, SettingsInvalid
from discreet.methods.checks import check_items, check_ratings
from discreet.methods.log import noted, told
from discreet.methods.parameters import Estimator
from discreet.methods.private_half import PrivateHalf
from discreet.methods.protocol import Progress, run_protocol
from discreet.methods.public_half import Facts, PublicHalf, described
from discreet.methods.query import Trained
from discreet.methods.settings import PrivateSettings
from discreet.model import Model
from discreet.model.item_weights import ItemWeights
from discreet.model.start import EarlierSums, Start
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried, Price
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import Statement

if TYPE_CHECKING:
    from discreet.engines.cluster import Cluster
    from discreet.methods.checkpoint import Checkpoint
    from discreet.privacy.account.ledger_file import AnyLedger, LedgerRun

__all__ = ["PrivateMethod", "carried_by"]


@dataclass(frozen=True)
class _Known:
    """An earlier model to start from; ``public``: its ratings are, so nobody pays for it."""

    model: Model
    public: bool


def carried_by(catalogue: Catalogue | None, start: Model | None, *, start_is_public: bool = False) -> Carried:
    """Earlier runs that a model will carry: of its start, and of a catalogue that some run has found."""
    known = None
    if start is not None and not start_is_public:
        known = start.statement.carried(start.digest)
    return Carried.together([known, None if catalogue is None else catalogue.paid])


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
    **Privacy**. Everything learnt from ratings passes the gate: the driver (:mod:`discreet.methods.protocol`)
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
        known = None if start is None else _Known(start, public=start_is_public)
        if noise is not None and (ledger is not None or checkpoint is not None):
            raise SettingsInvalid(
                "a ledger and a checkpoint take runs with the package's own noise alone; leave noise out"
            )
        progress = noted(progress)
        with ExitStack() as held:
            held.enter_context(told(self.method_name(), budget))
            held.enter_context(place.connect())
            kept = None
            if checkpoint is not None:
                kept, rng = self._kept(held, checkpoint, rng, ratings, budget, start, ledger is not None)
            if ledger is None:
                gate = _gate(budget, noise, kept)
                return self._fit(ratings, budget, rng, progress, gate, known, place, kept=kept)
            from discreet.privacy.account.ledger_file import open_run

            price = self.price(budget, discovers=ratings.catalogue is None)
            run = held.enter_context(
                open_run(
                    ledger,
                    budget,
                    price,
                    method=self.public_half.name,
                    adaptive=self.public_half.adaptive,
                    run=None if kept is None else kept.ledger_run,
                    carried=carried_by(ratings.catalogue, start, start_is_public=start_is_public),
                )
            )
            gate = _gate(budget, None, kept, run)
            fitted = self._fit(ratings, budget, rng, progress, gate, known, place, run, kept)
            run.end()
            return fitted

    def _kept(
        self,
        held: ExitStack,
        checkpoint: Checkpoint | str | os.PathLike[str],
        rng: np.random.Generator | int | None,
        ratings: AnyRatings,
        budget: Budget,
        start: Model | None,
        ledger: bool,
    ) -> tuple[Checkpoint, np.random.Generator | int | None]:
        """The folder that the run is kept in, and its seed."""
        from discreet.methods.checkpoint import Checkpoint, run_terms

        if isinstance(rng, np.random.Generator):
            raise SettingsInvalid("a run that may be resumed needs a seed or None as rng, not a generator")
        kept = (
            checkpoint if isinstance(checkpoint, Checkpoint) else held.enter_context(Checkpoint(checkpoint))
        )
        return kept, kept.begin(run_terms(self, ratings, budget, start, ledger=ledger), rng)

    def _place(self, ratings: AnyRatings, engine: Cluster | str | None, device: str) -> Place:
        """Where a run computes, checked."""
        return place_of(self.private_half, self.gpu_half, self.method_name(), engine, device, ratings)

    def price(self, budget: Budget, *, discovers: bool = False) -> Price:
        """What a run may cost in a ledger; ``discovers``: it finds its own catalogue, which takes part of delta."""
        share = self.settings.discover_share if discovers else None
        direct = 0.0 if share is None else share * budget.delta
        return Price(kind="gaussian", mu=budget.mu_for(direct), delta=direct)

    def _fit(
        self,
        ratings: AnyRatings,
        budget: Budget,
        rng: np.random.Generator | int | None,
        progress: Progress | None,
        gate: Gate,
        start: _Known | None,
        place: Place,
        run: LedgerRun | None = None,
        kept: Checkpoint | None = None,
    ) -> Self:
        settings, generator = self.settings, np.random.default_rng(rng)
        features = None if ratings.catalogue is None else ratings.catalogue.features
        self.public_half.check_features(features is not None)
        if start is not None:
            self.public_half.check_start(start.model)
        told = self.public_half.public_things(() if features is None else features.names)
        public: tuple[str, ...] = ("the item catalogue", "the rating range", *told)
        discovers, carried = ratings.catalogue is None, carried_by(ratings.catalogue, None)
        if start is not None:
            carried = carried_by(ratings.catalogue, start.model, start_is_public=start.public)
        if discovers:
            assert isinstance(ratings, Ratings)
            ratings = _discover(gate, ratings, settings)
        assert ratings.catalogue is not None
        if discovers or ratings.catalogue.paid is not None:
            public = public[1:]
        if start is not None and start.public:
            named = f"model {start.model.digest[:16]}, which it started from, and the ratings that one was trained on"
            public = (*public, named)
        check_items(ratings.n_items)
        ledger = gate.ledger
        table = start is not None and isinstance(start.model.item_side, ItemWeights)
        facts = Facts(
            ratings.n_items,
            ratings.scale,
            budget,
            ledger.remaining_mu,
            gate.noise_excess,
            ledger.spent_mu,
            ledger.spent_delta,
            features,
            None if start is None or table else Start.of(start.model, ratings.catalogue),
            EarlierSums.of(start.model, ratings.catalogue) if start is not None and table else None,
        )
        self._begin(settings, facts)
        engine = place.engine(ratings, progress)
        trained = run_protocol(self.public_half, settings, facts, generator, engine, gate, progress)
        entered = None if run is None else run.asked.run
        statement = Statement.from_ledger(
            gate.ledger,
            public=public,
            adaptive=self.public_half.adaptive,
            domain=ratings.rules.domain(explicit=ratings.explicit, listed=True),
            run=entered if kept is None else kept.ledger_run,
        )
        catalogue = ratings.catalogue
        if discovers:
            catalogue = catalogue.found_by(statement.found_catalogue())
        statement = statement.carrying(carried).with_earlier(None if run is None else run.earlier)
        said = described(self.public_half, settings, trained)
        return self._learnt(trained, Model(trained.side, catalogue, statement, self.public_half.name, said))

    def _begin(self, settings: PrivateSettings, facts: Facts) -> None:
        """What a method notes down before its first query; public."""

    def _learnt(self, trained: Trained, model: Model) -> Self:
        self.rank_, self.rounds_ = trained.side.rank, trained.rounds
        self.model_, self.statement_ = model, model.statement
        return self


def _gate(budget: Budget, noise: Noise | None, kept: Checkpoint | None, run: LedgerRun | None = None) -> Gate:
    """Where the run may be killed and go on, a gate that keeps releases."""
    ledger = Ledger(budget)
    if kept is None:
        ledger.keep_in(run)
        return Gate(ledger, noise)
    from discreet.privacy.gaussian.kept_gate import KeptGate

    if run is not None:
        from discreet.privacy.account.ledger_file import ResumedRun

        done = kept.count
        ledger.keep_in(ResumedRun(run, released=done, intended=kept.intended(done) is not None))
    return KeptGate(ledger, kept)


def _discover(gate: Gate, ratings: Ratings, settings: PrivateSettings) -> Ratings:
    if settings.discover_share is None:
        raise CatalogueMissing(
            "the items a private model speaks about must be public: give the ratings a catalogue, or spend part "
            "of the budget on finding them with discover_share=0.1 (--discover-items on the command line)"
        )
    from discreet.methods.discovery import discover_catalogue

    return discover_catalogue(gate, ratings, settings.discover_share)
