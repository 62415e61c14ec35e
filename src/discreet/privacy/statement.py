"""The privacy statement of a model: the promise of its run, and of all that the model carries beside it.

Some are made of others: over silos that each release something of their own, and of a model chosen among trials.

**Privacy.** Over silos: a user's ratings are in one silo, and what the other silos release does not depend on them.
Adding or removing that user changes one silo's release, so that all releases together are as private as that one: the
worst of them holds for everybody (parallel composition over disjoint users). A user in two silos pays both, which
``epsilon_in_two`` states for the worst pair. Among trials: ``proofs/selection.md``.
"""

from __future__ import annotations

import hashlib
import html
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from discreet.errors import ModelInvalid
from discreet.privacy.accounting import compose, epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Carried, Cost, EarlierRuns, Price, RunCost, Selection, shared_delta
from discreet.privacy.ledger import Ledger
from discreet.privacy.promise import (
    NOT_PROTECTED,
    Frozen,
    OwnCost,
    Promise,
    Release,
    TrustModel,
    shares_of,
)

__all__ = ["SiloTerms", "Silos", "Statement", "owed_in_silos", "state_over_silos", "state_selection"]

_TUNING = NOT_PROTECTED[1]
_FURTHER = (
    "further fits on the same ratings: each costs its own budget; the selection stated here is paid for"
)
_TIMED = (
    "the number of trials, towards whoever can watch the search (its duration, load or memory): the promise needs that "
    "number to be secret, so nobody may watch but who holds the ratings"
)

_PUBLIC = "the names of the silos, and which of them stayed away"
_OPEN = "when each silo sent what it sent"


class Silos(Frozen):
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


def owed_in_silos(terms: SiloTerms, budget: Budget, mu: float | None = None) -> Silos:
    """What a user in two silos pays, where one in a single silo pays `mu`: the whole budget if left out.

    Both contributions move the same sum, so its change is twice as large; where each silo releases sums of its own,
    these are two releases of the same cost.
    """
    mu = budget.mu_for(0.0) if mu is None else mu
    both = compose([mu, mu]) if terms.noise == "each silo" else 2.0 * mu
    twice = epsilon_from(both, budget.delta)
    return Silos(count=terms.count, honest=terms.honest, noise=terms.noise, epsilon_in_two=twice)


class Statement(Promise):
    """What is promised about one model. Build it with one of the class methods.

    ``epsilon``, ``delta`` and ``mu`` are about everything that the model carries, for somebody who was in all of it.
    Where that is more than one run, ``earlier_runs`` has the others, and ``this_run`` what this one cost by itself;
    ``mu`` is then absent where a run is not one of Gaussian releases.

    Checked as every :class:`Promise` is: it also covers the whole selection where the model was chosen among several,
    and the sum covers all runs. ``earlier`` is what earlier runs on the same data cost, where a ledger was kept.
    ``print`` shows it as text of at most 100 columns, numbers rounded up.
    """

    selection: Selection | None = None
    silos: Silos | None = None
    this_run: OwnCost | None = None
    earlier_runs: tuple[RunCost, ...] = ()
    earlier: EarlierRuns | None = None

    @classmethod
    def over_silos(cls, ledger: Ledger, terms: SiloTerms, **said: Any) -> Statement:
        """State what a run over several organisations promises; ``said`` as for :meth:`from_ledger`."""
        alone = cls.from_ledger(ledger, **said)
        if not alone.private:
            return alone.model_copy(update={"model": "silos"})
        if ledger.spent_delta > 0.0:
            raise ModelInvalid(
                "a release over silos takes nothing from delta directly: its group cost is not known"
            )
        owed = owed_in_silos(terms, ledger.budget, alone.mu)
        return cls(**{**dict(alone), "model": "silos", "silos": owed})

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
        return super().own if self.this_run is None else self.this_run

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
        return Price(kind="gaussian", mu=own.mu, delta=self.direct)

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
            void = Statement.void(before.fault, self.releases, self.public, self.model)
            return void.model_copy(update={"notes": self.notes, "goal": self.goal})
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
    def _is_whole(self) -> Self:
        if not self.private:
            if self.selection is not None or self.this_run is not None or self.earlier_runs:
                raise ValueError("a model that is not private has neither a selection nor earlier runs")
            return self
        if self.epsilon is None or self.delta is None:
            raise ValueError("a private model needs epsilon, delta and mu")
        own, known = self.own, self.earlier
        if not self.releases and self.selection is not None:
            raise ValueError("a model without releases was not selected")
        if known is not None and known.delta == own.delta and known.epsilon < own.epsilon:
            raise ValueError("this run and the earlier ones cannot cost less than this run")
        if self.silos is not None and self.silos.epsilon_in_two < self.epsilon:
            raise ValueError("a user in two silos cannot pay less than one in a single silo")
        self._sum_adds_up(self.epsilon, self.delta)
        return self

    def _covers(self, own: OwnCost) -> bool:
        if self.selection is None:
            return super()._covers(own)
        return self.direct == 0.0 and self.selection.epsilon(own.mu, own.delta) <= own.epsilon

    def _sum_adds_up(self, epsilon: float, delta: float) -> None:
        """Whether what is said first covers this run and all before it."""
        if (self.this_run is None) != (not self.earlier_runs):
            raise ValueError("what this run cost stands beside earlier runs, and only there")
        if not self.earlier_runs:
            return
        if self.relation != "add or remove one user":
            raise ValueError("costs that are about other relations do not add up")
        if len({run.run for run in self.earlier_runs} | {self.run}) <= len(self.earlier_runs):
            raise ValueError("an earlier run is named twice")
        cost, mu = self.cost, self.cost.gaussian_mu
        if not cost.covered_by(epsilon, delta):
            raise ValueError("epsilon and delta are less than what this and the earlier runs cost together")
        if (self.mu is None) != (mu is None) or (mu is not None and mu > (self.mu or 0.0) * (1.0 + 1e-15)):
            raise ValueError("mu is less than what this and the earlier runs cost together")


def state_over_silos(statements: Sequence[Statement]) -> Statement:
    """What all users are promised, where each silo has promised its own, about releases that nobody else had a part in.

    Epsilon, delta and mu are the largest of all silos. The releases listed are those of the silo whose users pay most;
    those of the others cost no more. It is not private where one of them is not.
    """
    if not statements:
        raise ModelInvalid("there is no silo to state anything about")
    public = _once([*(entry for one in statements for entry in one.public), _PUBLIC])
    refused = [one for one in statements if not one.private]
    if refused:
        return Statement(
            private=False,
            model="silos",
            reason=refused[0].reason,
            fixed_noise_key=any(one.fixed_noise_key for one in refused),
            releases=refused[0].releases,
            public=public,
        )
    own = [one.own for one in statements]
    together = Statement(
        private=True,
        model="silos",
        epsilon=max(one.epsilon for one in own),
        delta=max(one.delta for one in own),
        mu=max(one.mu for one in own),
        releases=_dearest(statements),
        silos=Silos(
            count=len(statements),
            honest=1,
            noise="each silo",
            epsilon_in_two=_in_two(statements),
        ),
        public=public,
        not_protected=_once([*(entry for one in statements for entry in one.not_protected), _OPEN]),
        domain=_once([entry for one in statements for entry in one.domain]),
    )
    return together.carrying(Carried(runs=tuple(run for one in statements for run in one.earlier_runs)))


def _dearest(statements: Sequence[Statement]) -> tuple[Release, ...]:
    """Releases of the silo with the largest mu, or where none has a mu with the largest epsilon.

    A Gaussian silo goes first: its mu must be covered by what is listed, and the epsilon that is stated covers any
    other silo as a whole.
    """
    return max(statements, key=lambda one: (one.own.mu, one.own.epsilon)).releases


def _in_two(statements: Sequence[Statement]) -> float:
    """The most that a user of two silos paid: of two alike, or of one without delta and one with."""
    alike = [one.silos.epsilon_in_two for one in statements if one.silos is not None]
    if len(alike) < len(statements):
        raise ModelInvalid("a silo does not say what a user in two silos pays")
    without, other = (
        max((one.own.epsilon for one in statements if bool(one.own.delta) is has), default=0.0)
        for has in (False, True)
    )
    return max([*alike, without + other])


def _once(entries: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entries))


def state_selection(
    trial: Statement,
    score: Ledger,
    selection: Selection,
    budget: Budget,
    *,
    public: Iterable[str] = (),
    run: str | None = None,
) -> Statement:
    """State what is owed for the whole selection that a trial came out of; its score's ledger is closed hereby.

    The statement gives the budget of the whole, and as mu what any one trial was allowed.
    """
    if not trial.private or not trial.releases:
        raise ModelInvalid("only private trials that released something can be chosen from")
    if trial.selection is not None:
        raise ModelInvalid("a trial cannot be a selection itself: its cost is not that of one mechanism")
    score.close()
    if not score.charges:
        raise ModelInvalid("the score that the trial was chosen by was not charged")
    # What a trial was allowed, not what this one happened to spend.
    allowed = compose([trial.own.mu, score.budget.mu])
    if allowed > selection.trial_mu(budget) * (1.0 + 1e-9):
        raise ModelInvalid("a trial was allowed to cost more than the selection accounts for")
    kept = tuple(entry for entry in trial.not_protected if entry != _TUNING)
    chosen = Statement(
        private=True,
        epsilon=budget.epsilon,
        delta=budget.delta,
        mu=selection.trial_mu(budget),
        releases=shares_of([*trial.releases, *score.charges]),
        selection=selection,
        public=(*(entry for entry in trial.public if not entry.startswith("all settings")), *public),
        not_protected=(*kept, _FURTHER, _TIMED),
        domain=trial.domain,
        run=secrets.token_hex(16) if run is None else run,
    )
    return chosen.carrying(Carried(runs=trial.earlier_runs))
