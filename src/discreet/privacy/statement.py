"""The privacy statement of a model: what is guaranteed, what was spent, what is public, what is not protected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.errors import ModelInvalid
from discreet.privacy.account.earlier import EarlierRuns
from discreet.privacy.accounting import compose, delta_from, epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.charges import Detail
from discreet.privacy.earlier import Earlier, in_all
from discreet.privacy.ledger import Charge, Ledger
from discreet.privacy.own_noise import FIXED_KEY
from discreet.privacy.pure.ledger import PureLedger
from discreet.privacy.selection import Selection
from discreet.privacy.statement_text import lines

__all__ = ["NOT_PROTECTED", "Release", "SiloTerms", "Silos", "Statement", "owed_in_silos"]

NOT_PROTECTED = (
    "evaluation on private test data: its results are not noised",
    "tuning by repeated fits: every fit on the same ratings costs its own budget",
    "the fact that a model was trained",
    "the time the training took",
)
"""What no run protects, in every statement of a private one."""

_TUNING = NOT_PROTECTED[1]
_FURTHER = (
    "further fits on the same ratings: each costs its own budget; the selection stated here is paid for"
)
_TIMED = (
    "the number of trials, towards whoever can watch the search (its duration, load or memory): the promise needs that "
    "number to be secret, so nobody may watch but who holds the ratings"
)


TrustModel: TypeAlias = Literal["central", "silos", "local"]
"""Where the ratings are: on one server, in silos, or on people's own devices."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Release(_Frozen):
    """One thing that left: its cost, and its share of the run's mu squared (or of its epsilon, where there is no mu).

    A Gaussian release costs ``mu``; one that is purely differentially private costs ``epsilon``.
    """

    name: str = Field(min_length=1)
    mu: float = Field(default=0.0, ge=0)
    epsilon: float = Field(default=0.0, ge=0)
    delta: float = Field(default=0.0, ge=0, lt=1)
    share: float = Field(ge=0, le=1)
    detail: dict[str, Detail] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _costs_something(self) -> Self:
        if (self.mu > 0.0) == (self.epsilon > 0.0):
            raise ValueError("a release costs either mu or epsilon")
        return self


class Silos(_Frozen):
    """How several organisations trained together.

    ``count`` is ``None`` where a silo speaks for itself alone. At least ``honest`` silos must have added their noise
    for the statement to hold against the server; ``noise`` says who adds it. ``epsilon_in_two`` is what a user pays
    whose ratings are in two silos.
    """

    count: int | None = Field(default=None, ge=1)
    honest: int = Field(ge=1)
    noise: Literal["shares", "server", "each silo"]
    epsilon_in_two: float = Field(gt=0)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.count is not None and self.honest > self.count:
            raise ValueError("more honest silos than silos")
        return self


@dataclass(frozen=True)
class SiloTerms:
    """How many silos there are, how many must be honest, and who adds the noise."""

    count: int | None
    honest: int
    noise: Literal["shares", "server", "each silo"]


class Statement(_Frozen):
    """What is promised about one model. Build it with one of the class methods.

    A statement that calls itself private is checked whenever it is made or read: its epsilon, delta and mu
    must cover the releases it lists, and the whole selection where the model was chosen among several.
    ``domain`` says which data sets the promise is about, and what becomes of rows that cannot be used; absent in older
    files. ``earlier`` is what earlier runs on the same data cost, where a ledger was kept of them.
    ``goal`` is what the model was trained for; absent before there is a model, and in older files.
    Where the run started from a released model, ``start_runs`` has the runs before it, the first of them first;
    ``epsilon_in_all`` at ``delta_in_all`` is what a user pays who was in this one and all of them.
    ``print`` shows it as text of at most 100 columns, numbers rounded up.
    """

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
    start_runs: tuple[Earlier, ...] = ()
    epsilon_in_all: float | None = Field(default=None, gt=0)
    delta_in_all: float | None = Field(default=None, gt=0, lt=1)
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
    ) -> Statement:
        """State what a run promises, and end the run: its ledger takes no further charge.

        A ledger that was made void (:meth:`~discreet.privacy.charges.Tokens.void`) gives a statement that the run
        is not private, with the reason.

        Parameters
        ----------
        ledger : Ledger
            Of the run; with at least one charge.
        public : iterable of str
            What was given and not read off the ratings.
        not_protected : iterable of str
            What this run leaves open beside :data:`NOT_PROTECTED`.
        adaptive : bool
            Whether number or cost of the releases followed from earlier releases. The statement then gives
            the budget itself, which the ledger held whatever happened.
        silos : SiloTerms, optional
            Where several organisations trained together.
        domain : iterable of str
            Which data sets the promise is about.

        Notes
        -----
        **Privacy.** The epsilon stated is the one owed for all that was charged, released or not, at the
        budget's delta. That needs number and cost of the releases to be fixed by public settings: a sum that
        itself depends on the ratings bounds nothing (``proofs/accounting.md``). Otherwise say ``adaptive``.
        """
        ledger.close()
        releases = _releases(ledger.charges)
        if ledger.fault is not None:
            return cls(
                private=False,
                reason=ledger.fault,
                fixed_noise_key=ledger.fault == FIXED_KEY,
                model="central" if silos is None else "silos",
                releases=releases,
                public=tuple(public),
            )
        if not releases:
            raise ModelInvalid("a run without any charged release has nothing to state; was the gate used?")
        if silos is not None and ledger.spent_delta > 0.0:
            raise ModelInvalid(
                "a release over silos takes nothing from delta directly: its group cost is not known"
            )
        mu = ledger.budget.mu_for(ledger.spent_delta) if adaptive else ledger.spent_mu
        return cls(
            private=True,
            model="central" if silos is None else "silos",
            epsilon=ledger.budget.epsilon if adaptive else ledger.epsilon_spent,
            delta=ledger.budget.delta,
            mu=mu,
            releases=releases,
            silos=None if silos is None else owed_in_silos(silos, ledger.budget, mu),
            public=tuple(public),
            not_protected=(*NOT_PROTECTED, *not_protected),
            domain=tuple(domain),
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
        """State what a run of purely differentially private mechanisms promises, and end the run.

        Parameters
        ----------
        ledger
            Of one silo, or of one device: what any one of them may spend.
        model
            ``"silos"``: add or remove one user. ``"local"``: replace all of one user's ratings, as the transcript of
            one device is all there is.
        silos
            Number of silos that each spent this, where it is known.
        public, not_protected, domain
            As in :meth:`from_ledger`.

        Notes
        -----
        **Privacy.** The statement gives the whole budget that the ledger held, whatever was charged.
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
            return cls(
                private=False,
                reason=ledger.fault,
                fixed_noise_key=ledger.fault == FIXED_KEY,
                model=model,
                releases=releases,
                public=tuple(public),
            )
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
    def from_selection(
        cls,
        trial: Statement,
        score: Ledger,
        selection: Selection,
        budget: Budget,
        *,
        public: Iterable[str] = (),
    ) -> Statement:
        """State what is owed for the whole selection that this trial came out of.

        Parameters
        ----------
        trial
            Of the chosen model's own run; private.
        score
            Ledger of the release of its score; closed hereby.
        selection, budget
            How the trial was chosen, and what the whole was allowed. The statement gives the budget, and as mu what
            any one trial was allowed.
        public
            What the selection took as public beside what the trial did.
        """
        if not trial.private or not trial.releases or trial.mu is None:
            raise ModelInvalid("only private trials that released something can be chosen from")
        if trial.start_runs:
            raise ModelInvalid(
                "a trial cannot start from an earlier model: what both cost is not accounted for"
            )
        if trial.selection is not None:
            raise ModelInvalid("a trial cannot be a selection itself: its cost is not that of one mechanism")
        score.close()
        if not score.charges:
            raise ModelInvalid("the score that the trial was chosen by was not charged")
        # What a trial was allowed, not what this one happened to spend.
        allowed = compose([trial.mu, score.budget.mu])
        if allowed > selection.trial_mu(budget) * (1.0 + 1e-9):
            raise ModelInvalid("a trial was allowed to cost more than the selection accounts for")
        kept = tuple(entry for entry in trial.not_protected if entry != _TUNING)
        return cls(
            private=True,
            epsilon=budget.epsilon,
            delta=budget.delta,
            mu=selection.trial_mu(budget),
            releases=_releases([*trial.releases, *score.charges]),
            selection=selection,
            public=(*(entry for entry in trial.public if not entry.startswith("all settings")), *public),
            not_protected=(*kept, _FURTHER, _TIMED),
            domain=trial.domain,
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
        """Say in so many words that a model promises nothing, and why.

        Parameters
        ----------
        reason
            Why it promises nothing.
        public
            What was taken as public.
        model
            Where the ratings were: on one server, in silos, or on people's own devices.
        """
        return cls(private=False, reason=reason, public=tuple(public), model=model)

    def started_from(self, digest: str, start: Statement) -> Statement:
        """The statement of a run that started from a released model, which it names.

        Parameters
        ----------
        digest
            Of the model that the run started from.
        start
            That model's statement. If it is not private, this one is not either.
        """
        short = f"model {digest[:16]}"
        if not start.private and self.private:
            reason = (
                f"it started from {short}, which is not private ({start.reason}); what that model has learnt from its "
                "users' ratings is in this one"
            )
            return Statement(
                private=False,
                reason=reason,
                model=self.model,
                releases=self.releases,
                public=self.public,
                notes=self.notes,
                goal=self.goal,
            )
        if not self.private:
            return self.with_note(f"the run started from {short}")
        assert start.epsilon is not None
        assert start.delta is not None
        assert start.mu is not None
        exact = start.selection is None and all(release.epsilon == 0.0 for release in start.releases)
        run = Earlier(
            digest=digest,
            epsilon=start.epsilon,
            delta=start.delta,
            mu=start.mu if exact else 0.0,
            direct=math.fsum(release.delta for release in start.releases) if exact else 0.0,
        )
        earlier = (*start.start_runs, run)
        epsilon, delta, _ = self._owed_in_all(earlier)
        return Statement(
            **{**dict(self), "start_runs": earlier, "epsilon_in_all": epsilon, "delta_in_all": delta}
        )

    def _owed_in_all(self, earlier: Sequence[Earlier]) -> tuple[float, float, float]:
        assert self.mu is not None
        assert self.delta is not None
        return in_all(self.mu, self.delta, math.fsum(release.delta for release in self.releases), earlier)

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
        return "\n".join(lines(self))

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if not self.private:
            if (
                self.reason is None
                or self.epsilon is not None
                or self.delta is not None
                or self.mu is not None
                or self.selection is not None
                or self.start_runs
            ):
                raise ValueError("a model that is not private needs a reason and has no epsilon, delta or mu")
            return self
        if self.epsilon is None or self.delta is None or self.mu is None:
            raise ValueError("a private model needs epsilon, delta and mu")
        if self.reason is not None or self.fixed_noise_key:
            raise ValueError("a private model has no reason not to be and no fixed noise key")
        self._adds_up_in_all()
        if not self.releases:
            if self.epsilon or self.delta or self.mu or self.selection is not None:
                raise ValueError(
                    "a model without releases has epsilon, delta and mu of 0, and was not selected"
                )
            return self
        # One part in 1e15 for the order of summation; delta_from rounds up by far more than that.
        if compose(release.mu for release in self.releases) > self.mu * (1.0 + 1e-15):
            raise ValueError("mu is less than what the releases cost together")
        extra = math.fsum(release.delta for release in self.releases)
        pure = math.fsum(release.epsilon for release in self.releases)
        if pure > self.epsilon:
            raise ValueError("epsilon is less than what the releases cost together")
        if extra > self.delta:
            raise ValueError("delta is less than what the releases take from it")
        if (
            self.earlier is not None
            and self.earlier.delta == self.delta
            and self.earlier.epsilon < self.epsilon
        ):
            raise ValueError("this run and the earlier ones cannot cost less than this run")
        if self.silos is not None and self.silos.epsilon_in_two < self.epsilon:
            raise ValueError("a user in two silos cannot pay less than one in a single silo")
        if self.mu == 0.0:
            return self
        if self.selection is None:
            if delta_from(self.mu, self.epsilon - pure) + extra > self.delta:
                raise ValueError("epsilon and delta promise more than mu allows")
        elif pure > 0.0 or extra > 0.0 or self.selection.epsilon(self.mu, self.delta) > self.epsilon:
            raise ValueError("epsilon and delta promise more than a selection at this mu allows")
        return self

    def _adds_up_in_all(self) -> None:
        stated = (self.epsilon_in_all, self.delta_in_all)
        if not self.start_runs:
            if stated != (None, None):
                raise ValueError("without earlier runs there is no epsilon or delta in all")
            return
        if not self.mu or self.selection is not None or self.relation != "add or remove one user":
            raise ValueError("only a run of Gaussian releases starts from an earlier model")
        if self.epsilon_in_all is None or self.delta_in_all is None:
            raise ValueError("with earlier runs a statement says what all of them cost together")
        epsilon, delta, _ = self._owed_in_all(self.start_runs)
        if epsilon > self.epsilon_in_all or delta > self.delta_in_all:
            raise ValueError(
                "epsilon and delta in all are less than what this and the earlier runs cost together"
            )


def owed_in_silos(terms: SiloTerms, budget: Budget, mu: float | None = None) -> Silos:
    """What a user in two silos pays, where one in a single silo pays `mu`: the whole budget if left out.

    Both contributions move the same sum, so its change is twice as large; where each silo releases sums of its own,
    these are two releases of the same cost.
    """
    mu = budget.mu_for(0.0) if mu is None else mu
    both = compose([mu, mu]) if terms.noise == "each silo" else 2.0 * mu
    twice = epsilon_from(both, budget.delta)
    return Silos(count=terms.count, honest=terms.honest, noise=terms.noise, epsilon_in_two=twice)


def _releases(charges: Sequence[Charge | Release]) -> tuple[Release, ...]:
    total = compose(charge.mu for charge in charges)
    return tuple(
        Release(
            name=charge.name,
            mu=charge.mu,
            delta=charge.delta,
            share=min(1.0, (charge.mu / total) ** 2),
            detail=dict(charge.detail),
        )
        for charge in charges
    )
