"""The privacy statement of a model: what is guaranteed, what was spent, what is public, what is not protected."""

from __future__ import annotations

import hashlib
import html
import math
import secrets
from collections.abc import Iterable
from typing import Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.errors import ModelInvalid
from discreet.privacy.account.costs import Cost, Price, shared_delta
from discreet.privacy.accounting import compose, delta_from
from discreet.privacy.carried import Carried, EarlierRuns, RunCost, RunId
from discreet.privacy.ledger import Ledger, PureLedger
from discreet.privacy.own_noise import FIXED_KEY
from discreet.privacy.selection import Selection
from discreet.privacy.statement_parts import OwnCost, Release, Silos, SiloTerms, owed_in_silos, shares_of

__all__ = ["NOT_PROTECTED", "Statement", "TrustModel"]

NOT_PROTECTED = (
    "evaluation on private test data: its results are not noised",
    "tuning by repeated fits: every fit on the same ratings costs its own budget",
    "the fact that a model was trained",
    "the time the training took",
)
"""What no run protects, in every statement of a private one."""

TrustModel: TypeAlias = Literal["central", "silos", "local"]
"""Where the ratings are: on one server, in silos, or on people's own devices."""


class Statement(BaseModel):
    """What is promised about one model. Build it with one of the class methods.

    ``epsilon``, ``delta`` and ``mu`` are about everything that the model carries, for somebody who was in all of it.
    Where that is more than one run, ``earlier_runs`` has the others, and ``this_run`` what this one cost by itself;
    ``mu`` is then absent where a run is not one of Gaussian releases.
    ``run`` is the id by which a run is counted once, wherever it is carried to.

    A statement that calls itself private is checked whenever it is made or read: what each run cost must cover the
    releases listed, and the whole selection where the model was chosen among several; the sum must cover all runs.
    ``domain`` says which data sets the promise is about, and what becomes of rows that cannot be used; ``earlier`` what
    earlier runs on the same data cost, where a ledger was kept; ``goal`` what the model was trained for.
    ``print`` shows it as text of at most 100 columns, numbers rounded up.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    private: bool
    unit: Literal["one user, with all of that user's ratings"] = "one user, with all of that user's ratings"
    relation: Literal["add or remove one user", "replace all of one user's ratings"] = (
        "add or remove one user"
    )
    model: TrustModel = "central"
    epsilon: float | None = Field(default=None, ge=0)
    delta: float | None = Field(default=None, ge=0, lt=1)
    mu: float | None = Field(default=None, ge=0)
    releases: tuple[Release, ...] = ()
    selection: Selection | None = None
    silos: Silos | None = None
    public: tuple[str, ...] = ()
    not_protected: tuple[str, ...] = ()
    domain: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = Field(default=None, min_length=1)
    fixed_noise_key: bool = False
    goal: Literal["rank", "rate"] | None = None
    run: RunId | None = None
    this_run: OwnCost | None = None
    earlier_runs: tuple[RunCost, ...] = ()
    earlier: EarlierRuns | None = None

    @classmethod
    def from_ledger(
        cls,
        ledger: Ledger,
        *,
        public: Iterable[str] = (),
        not_protected: Iterable[str] = (),
        adaptive: bool = False,
        silos: SiloTerms | None = None,
        domain: Iterable[str] = (),
        run: str | None = None,
    ) -> Statement:
        """State what a run promises, and end the run: its ledger takes no further charge.

        A ledger that was made void (:meth:`~discreet.privacy.ledger.Charges.void`) gives a statement that the run
        is not private, with the reason.

        Parameters
        ----------
        public, not_protected, domain
            What was given and not read off the ratings; what is open beside :data:`NOT_PROTECTED`; which data sets the
            promise is about.
        adaptive
            Whether number or cost of the releases followed from earlier releases. The statement then gives
            the budget itself, which the ledger held whatever happened.
        silos
            Where several organisations trained together.
        run
            The run's id, where it has one already: in the ledger of a data set, or in an agreement.

        Notes
        -----
        **Privacy.** The epsilon stated is the one owed for all that was charged, released or not, at the
        budget's delta. That needs number and cost of the releases to be fixed by public settings: a sum that
        itself depends on the ratings bounds nothing (``proofs/accounting.md``). Otherwise say ``adaptive``.
        """
        ledger.close()
        releases = shares_of(ledger.charges)
        model: TrustModel = "central" if silos is None else "silos"
        if ledger.fault is not None:
            return cls._void(ledger.fault, model, releases, public)
        if not releases:
            raise ModelInvalid("a run without any charged release has nothing to state; was the gate used?")
        if silos is not None and ledger.spent_delta > 0.0:
            raise ModelInvalid(
                "a release over silos takes nothing from delta directly: its group cost is not known"
            )
        mu = ledger.budget.mu_for(ledger.spent_delta) if adaptive else ledger.spent_mu
        return cls(
            private=True,
            model=model,
            epsilon=ledger.budget.epsilon if adaptive else ledger.epsilon_spent,
            delta=ledger.budget.delta,
            mu=mu,
            releases=releases,
            silos=None if silos is None else owed_in_silos(silos, ledger.budget, mu),
            public=tuple(public),
            not_protected=(*NOT_PROTECTED, *not_protected),
            domain=tuple(domain),
            run=secrets.token_hex(16) if run is None else run,
        )

    @classmethod
    def from_pure_ledger(
        cls,
        ledger: PureLedger,
        *,
        model: Literal["silos", "local"],
        silos: int | None = None,
        public: Iterable[str] = (),
        not_protected: Iterable[str] = (),
        domain: Iterable[str] = (),
    ) -> Statement:
        """State what a run without delta promises, of one silo or one device: the whole budget that its ledger held.

        The relation is to add or remove one user over silos, and to replace all of one user's ratings on devices, as
        the transcript of one device is all there is. ``silos`` is how many silos each spent this, where it is known.
        """
        ledger.close()
        total = ledger.spent
        releases = tuple(
            Release(
                name=charge.name,
                epsilon=charge.epsilon,
                share=min(1.0, charge.epsilon / total),
                detail=dict(charge.detail),
            )
            for charge in ledger.charges
        )
        if ledger.fault is not None:
            return cls._void(ledger.fault, model, releases, public)
        if not releases:
            raise ModelInvalid("a run without any charged release has nothing to state")
        epsilon = max(ledger.epsilon, total)
        return cls(
            private=True,
            relation="replace all of one user's ratings" if model == "local" else "add or remove one user",
            model=model,
            epsilon=epsilon,
            delta=0.0,
            mu=0.0,
            releases=releases,
            silos=None
            if model == "local"
            else Silos(count=silos, honest=1, noise="each silo", epsilon_in_two=2.0 * epsilon),
            public=tuple(public),
            not_protected=(*NOT_PROTECTED, *not_protected),
            domain=tuple(domain),
        )

    @classmethod
    def _void(
        cls, fault: str, model: TrustModel, releases: tuple[Release, ...], public: Iterable[str]
    ) -> Statement:
        return cls(
            private=False,
            reason=fault,
            fixed_noise_key=fault == FIXED_KEY,
            model=model,
            releases=releases,
            public=tuple(public),
        )

    @classmethod
    def nothing_released(cls, *, public: Iterable[str] = ()) -> Statement:
        """State that nothing in the model was computed from ratings: epsilon, delta and mu are 0."""
        return cls(
            private=True, epsilon=0.0, delta=0.0, mu=0.0, public=tuple(public), not_protected=NOT_PROTECTED
        )

    @classmethod
    def not_private(
        cls, reason: str, *, public: Iterable[str] = (), model: TrustModel = "central"
    ) -> Statement:
        """Say in so many words that a model promises nothing, and why."""
        return cls(private=False, reason=reason, public=tuple(public), model=model)

    @property
    def released(self) -> bool:
        """Whether anything computed from ratings is in the model, by whatever run."""
        return bool(self.releases or self.earlier_runs)

    @property
    def runs(self) -> int:
        """How many runs the model carries, this one included if it released anything."""
        return len(self.earlier_runs) + bool(self.releases)

    @property
    def own(self) -> OwnCost:
        """What this run cost by itself."""
        if self.this_run is not None:
            return self.this_run
        if self.epsilon is None or self.delta is None or self.mu is None:
            raise ModelInvalid("a model that is not private has no cost")
        return OwnCost(epsilon=self.epsilon, delta=self.delta, mu=self.mu)

    @property
    def cost(self) -> Cost:
        """What all runs together cost, as it composes."""
        return Cost.together([self._own_cost, *(run.price.cost for run in self.earlier_runs)])

    @property
    def _own_cost(self) -> Cost:
        return self._price.cost if self.releases else Cost()

    @property
    def _price(self) -> Price:
        """What this run cost, as it composes."""
        own = self.own
        if self.selection is not None:
            trials = self.selection.mean_trials
            return Price(
                kind="selection", mu=own.mu, epsilon=own.epsilon, delta=own.delta, mean_trials=trials
            )
        if self.silos is not None and self.silos.noise == "each silo":
            # The worst of silos of any kind: nothing but epsilon and delta holds for all of them.
            return Price(kind="approximate", epsilon=own.epsilon, delta=own.delta)
        if own.mu == 0.0:
            return Price(kind="pure", epsilon=own.epsilon)
        return Price(kind="gaussian", mu=own.mu, delta=self._direct)

    @property
    def _direct(self) -> float:
        return math.fsum(release.delta for release in self.releases)

    def carried(self, digest: str) -> Carried:
        """What somebody carries on who builds on this model, of this digest: all runs that are in it."""
        if not self.private:
            return Carried(fault=f"model {digest[:16]} is not private ({self.reason}), and it is in this one")
        runs = self.earlier_runs
        if self.releases:
            # A statement without an id is known by the model's bytes.
            known = self.run or hashlib.sha256(digest.encode()).hexdigest()[:32]
            own = RunCost(
                run=known, model=digest, epsilon=self.own.epsilon, delta=self.own.delta, price=self._price
            )
            runs = (*runs, own)
        return Carried(runs=runs)

    def found_catalogue(self) -> Carried:
        """What somebody carries on who takes the catalogue that this run has chosen with its first release."""
        if not self.private:
            return Carried(fault=f"its catalogue was found by a run that is not private ({self.reason})")
        assert self.run is not None
        first, delta = self.releases[0], self.own.delta
        price = Price(kind="gaussian", mu=first.mu, delta=first.delta)
        epsilon = price.cost.epsilon(delta)
        return Carried(
            runs=(RunCost(run=self.run, part="catalogue", epsilon=epsilon, delta=delta, price=price),)
        )

    def carrying(self, carried: Carried) -> Statement:
        """The statement of a model that carries the releases of earlier runs as well.

        Its epsilon, delta and mu are then those of all runs together, for somebody who was in every one of them. It is
        not private where one of them is not.
        """
        before = Carried.together([Carried(runs=self.earlier_runs), carried])
        runs = tuple(run for run in before.runs if run.run != self.run)
        if not self.private:
            return self
        if before.fault is not None:
            return Statement(
                private=False,
                reason=before.fault,
                model=self.model,
                releases=self.releases,
                public=self.public,
                notes=self.notes,
                goal=self.goal,
            )
        if not runs:
            return self
        if self.relation != "add or remove one user":
            raise ModelInvalid(
                "what is replaced on a device does not add up with runs that count a user who comes or goes"
            )
        own, earlier = self.own, [run.price.cost for run in runs]
        cost = Cost.together([self._own_cost, *earlier])
        delta = shared_delta([own.delta, *(run.delta for run in runs)], cost.delta)
        sums = {"epsilon": cost.epsilon(delta), "delta": delta, "mu": cost.gaussian_mu}
        silos = self.silos
        if silos is not None:
            twice = Cost(mu=2.0 * own.mu)
            if silos.noise == "each silo":
                twice = Cost(pure=(silos.epsilon_in_two,), delta=own.delta)
            in_two = Cost.together([twice, *earlier]).epsilon(delta)
            silos = silos.model_copy(update={"epsilon_in_two": in_two})
        return Statement(**{**dict(self), **sums, "silos": silos, "this_run": own, "earlier_runs": runs})

    def with_note(self, note: str) -> Statement:
        """The same promise with one more note: what was done to the model since, at no cost."""
        return self.model_copy(update={"notes": (*self.notes, note)})

    def with_earlier(self, earlier: EarlierRuns | None) -> Statement:
        """The same promise beside what earlier runs on the same data cost; ``None`` where no ledger was kept."""
        return self if earlier is None else Statement.model_validate({**dict(self), "earlier": earlier})

    @classmethod
    def from_json(cls, text: str | bytes) -> Statement:
        """Read what :meth:`to_json` wrote; refuse anything that does not add up."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the whole"
            raise ModelInvalid(
                f"the privacy statement cannot be trusted ({where}: {first['msg']})"
            ) from error

    def to_json(self) -> str:
        """The statement as one JSON object; numbers survive to the last bit."""
        return self.model_dump_json(indent=2)

    def __str__(self) -> str:
        from discreet.statements.lines import lines

        return "\n".join(lines(self))

    def __repr__(self) -> str:
        if not self.private:
            return f"Statement(not private: {self.reason})"
        said = "nothing" if self.epsilon is None else f"epsilon {self.epsilon:.4g}, delta {self.delta:.4g}"
        return f"Statement({self.model}, {said}, {len(self.releases)} releases)"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        return f"<pre>{html.escape(str(self))}</pre>"

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if not self.private:
            if (
                self.reason is None
                or self.epsilon is not None
                or self.delta is not None
                or self.mu is not None
                or self.selection is not None
                or self.this_run is not None
                or self.earlier_runs
            ):
                raise ValueError("a model that is not private needs a reason and has no epsilon, delta or mu")
            return self
        if self.epsilon is None or self.delta is None or (self.mu is None and self.this_run is None):
            raise ValueError("a private model needs epsilon, delta and mu")
        if self.reason is not None or self.fixed_noise_key:
            raise ValueError("a private model has no reason not to be and no fixed noise key")
        own = self.own
        if not self.releases:
            if own.epsilon or own.delta or own.mu or self.selection is not None:
                raise ValueError(
                    "a model without releases has epsilon, delta and mu of 0, and was not selected"
                )
        else:
            self._own_adds_up(own)
        self._sum_adds_up()
        return self

    def _own_adds_up(self, own: OwnCost) -> None:
        # One part in 1e15 for the order of summation; delta_from rounds up by far more than that.
        if compose(release.mu for release in self.releases) > own.mu * (1.0 + 1e-15):
            raise ValueError("mu is less than what the releases cost together")
        extra, pure = self._direct, math.fsum(release.epsilon for release in self.releases)
        if pure > 0.0 and any(release.mu > 0.0 for release in self.releases):
            raise ValueError("releases of one run are Gaussian, or all of them pure")
        if pure > own.epsilon:
            raise ValueError("epsilon is less than what the releases cost together")
        if extra > own.delta:
            raise ValueError("delta is less than what the releases take from it")
        if (
            self.earlier is not None
            and self.earlier.delta == own.delta
            and self.earlier.epsilon < own.epsilon
        ):
            raise ValueError("this run and the earlier ones cannot cost less than this run")
        if self.silos is not None and self.silos.epsilon_in_two < (self.epsilon or 0.0):
            raise ValueError("a user in two silos cannot pay less than one in a single silo")
        if own.mu == 0.0:
            return
        if self.selection is None:
            if delta_from(own.mu, own.epsilon) + extra > own.delta:
                raise ValueError("epsilon and delta promise more than mu allows")
        elif extra > 0.0 or self.selection.epsilon(own.mu, own.delta) > own.epsilon:
            raise ValueError("epsilon and delta promise more than a selection at this mu allows")

    def _sum_adds_up(self) -> None:
        """Whether what is said first covers this run and all before it."""
        assert self.epsilon is not None
        assert self.delta is not None
        if (self.this_run is None) != (not self.earlier_runs):
            raise ValueError("what this run cost stands beside earlier runs, and only there")
        if not self.earlier_runs:
            return
        if self.relation != "add or remove one user":
            raise ValueError("costs that are about other relations do not add up")
        if len({run.run for run in self.earlier_runs} | {self.run}) <= len(self.earlier_runs):
            raise ValueError("an earlier run is named twice")
        cost, mu = self.cost, self.cost.gaussian_mu
        if not cost.covered_by(self.epsilon, self.delta):
            raise ValueError("epsilon and delta are less than what this and the earlier runs cost together")
        if (self.mu is None) != (mu is None) or (mu is not None and mu > (self.mu or 0.0) * (1.0 + 1e-15)):
            raise ValueError("mu is less than what this and the earlier runs cost together")
