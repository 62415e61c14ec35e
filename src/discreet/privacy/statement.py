"""The privacy statement that travels with a model: what was promised, paid, public and left open."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.errors import ModelInvalid
from discreet.privacy.accounting import compose, delta_from
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Charge, Detail, Ledger
from discreet.privacy.selection import Selection
from discreet.privacy.statement_text import lines

__all__ = ["NOT_PROTECTED", "Release", "Statement"]

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
_TIMED = "the number of trials, as far as the time the training took tells it"

_FIXED_KEY = "the noise was drawn with a fixed key, so whoever knows the key can take it off again"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Release(_Frozen):
    """One thing that left through the gate: its cost, and its share of the run's mu squared."""

    name: str = Field(min_length=1)
    mu: float = Field(gt=0)
    delta: float = Field(default=0.0, ge=0, lt=1)
    share: float = Field(ge=0, le=1)
    detail: dict[str, Detail] = Field(default_factory=dict)


class Statement(_Frozen):
    """What is promised about one model. Build it with one of the class methods.

    A statement that calls itself private is checked whenever it is made or read: its epsilon, delta and mu
    must cover the releases it lists, and the whole selection where the model was chosen among several.
    ``print`` shows it as text of at most 100 columns, numbers rounded up.
    """

    private: bool
    unit: Literal["one user, with all of that user's ratings"] = "one user, with all of that user's ratings"
    relation: Literal["add or remove one user"] = "add or remove one user"
    model: Literal["central"] = "central"
    epsilon: float | None = Field(default=None, ge=0)
    delta: float | None = Field(default=None, ge=0, lt=1)
    mu: float | None = Field(default=None, ge=0)
    releases: tuple[Release, ...] = ()
    selection: Selection | None = None
    public: tuple[str, ...] = ()
    not_protected: tuple[str, ...] = ()
    reason: str | None = Field(default=None, min_length=1)
    fixed_noise_key: bool = False

    @classmethod
    def from_ledger(
        cls,
        ledger: Ledger,
        *,
        public: Iterable[str] = (),
        not_protected: Iterable[str] = (),
        fixed_noise_key: bool = False,
        adaptive: bool = False,
    ) -> Statement:
        """State what a run promises, and end the run: its ledger takes no further charge.

        Parameters
        ----------
        ledger : Ledger
            Of the run; with at least one charge.
        public : iterable of str
            What was given and not read off the ratings.
        not_protected : iterable of str
            What this run leaves open beside :data:`NOT_PROTECTED`.
        fixed_noise_key : bool
            Whether the noise can be drawn again. The statement then says that the model is not private.
        adaptive : bool
            Whether number or cost of the releases followed from earlier releases. The statement then gives
            the budget itself, which the ledger held whatever happened.

        Notes
        -----
        **Privacy.** The epsilon stated is the one owed for all that was charged, released or not, at the
        budget's delta. That needs number and cost of the releases to be fixed by public settings: a sum that
        itself depends on the ratings bounds nothing (``proofs/accounting.md``). Otherwise say ``adaptive``.
        """
        ledger.close()
        releases = _releases(ledger.charges)
        if fixed_noise_key:
            return cls(
                private=False,
                reason=_FIXED_KEY,
                fixed_noise_key=True,
                releases=releases,
                public=tuple(public),
            )
        if not releases:
            raise ModelInvalid("a run without any charged release has nothing to state; was the gate used?")
        return cls(
            private=True,
            epsilon=ledger.budget.epsilon if adaptive else ledger.epsilon_spent,
            delta=ledger.budget.delta,
            mu=ledger.budget.mu_for(ledger.spent_delta) if adaptive else ledger.spent_mu,
            releases=releases,
            public=tuple(public),
            not_protected=(*NOT_PROTECTED, *not_protected),
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
        )

    @classmethod
    def nothing_released(cls, *, public: Iterable[str] = ()) -> Statement:
        """State that nothing in the model was computed from ratings: epsilon, delta and mu are 0."""
        return cls(
            private=True, epsilon=0.0, delta=0.0, mu=0.0, public=tuple(public), not_protected=NOT_PROTECTED
        )

    @classmethod
    def not_private(cls, reason: str, *, public: Iterable[str] = ()) -> Statement:
        """Say in so many words that a model promises nothing, and why."""
        return cls(private=False, reason=reason, public=tuple(public))

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
            ):
                raise ValueError("a model that is not private needs a reason and has no epsilon, delta or mu")
            return self
        if self.epsilon is None or self.delta is None or self.mu is None:
            raise ValueError("a private model needs epsilon, delta and mu")
        if self.reason is not None or self.fixed_noise_key:
            raise ValueError("a private model has no reason not to be and no fixed noise key")
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
        if self.selection is None:
            if delta_from(self.mu, self.epsilon) + extra > self.delta:
                raise ValueError("epsilon and delta promise more than mu allows")
        elif extra > 0.0 or self.selection.epsilon(self.mu, self.delta) > self.epsilon:
            raise ValueError("epsilon and delta promise more than a selection at this mu allows")
        return self


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
