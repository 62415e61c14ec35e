"""The privacy statement that travels with a model: what was promised, paid, public and left open."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.errors import ModelInvalid
from discreet.privacy.accounting import compose, delta_from
from discreet.privacy.ledger import Detail, Ledger

__all__ = ["NOT_PROTECTED", "Release", "Statement"]

NOT_PROTECTED = (
    "evaluation on private test data: its results are not noised",
    "tuning by repeated fits: every fit on the same ratings costs its own budget",
    "the fact that a model was trained",
    "the time the training took",
)
"""What no run protects, in every statement of a private one."""

_FIXED_KEY = "the noise was drawn with a fixed key, so whoever knows the key can take it off again"
_WIDTH = 100


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
    """What is promised about one model. Build it with :meth:`from_ledger` or :meth:`not_private`.

    A statement that calls itself private is checked whenever it is made or read: its epsilon, delta and mu
    must cover the releases it lists. ``print`` shows it as text of at most 100 columns, numbers rounded up.
    """

    private: bool
    unit: Literal["one user, with all of that user's ratings"] = "one user, with all of that user's ratings"
    relation: Literal["add or remove one user"] = "add or remove one user"
    model: Literal["central"] = "central"
    epsilon: float | None = Field(default=None, ge=0)
    delta: float | None = Field(default=None, gt=0, lt=1)
    mu: float | None = Field(default=None, gt=0)
    releases: tuple[Release, ...] = ()
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
        releases = _releases(ledger)
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
        return "\n".join(_lines(self))

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if not self.private:
            if (
                self.reason is None
                or self.epsilon is not None
                or self.delta is not None
                or self.mu is not None
            ):
                raise ValueError("a model that is not private needs a reason and has no epsilon, delta or mu")
            return self
        if self.epsilon is None or self.delta is None or self.mu is None or not self.releases:
            raise ValueError("a private model needs epsilon, delta, mu and its releases")
        if self.reason is not None or self.fixed_noise_key:
            raise ValueError("a private model has no reason not to be and no fixed noise key")
        # One part in 1e15 for the order of summation; delta_from rounds up by far more than that.
        if compose(release.mu for release in self.releases) > self.mu * (1.0 + 1e-15):
            raise ValueError("mu is less than what the releases cost together")
        if delta_from(self.mu, self.epsilon) + math.fsum(r.delta for r in self.releases) > self.delta:
            raise ValueError("epsilon and delta promise more than mu allows")
        return self


def _releases(ledger: Ledger) -> tuple[Release, ...]:
    total = ledger.spent_mu
    return tuple(
        Release(
            name=charge.name,
            mu=charge.mu,
            delta=charge.delta,
            share=min(1.0, (charge.mu / total) ** 2),
            detail=dict(charge.detail),
        )
        for charge in ledger.charges
    )


def _lines(statement: Statement) -> Iterator[str]:
    yield "Privacy statement"
    if statement.private:
        yield from _promise(statement)
    else:
        yield from _item("NOT PRIVATE: ", statement.reason or "")
    if statement.releases:
        yield "Releases (mu of each one, rounded up; all its repetitions' share of mu squared)"
        for group in _groups(statement.releases):
            yield from _row(group)
    for title, entries in (
        ("Public: given, not read off the ratings", statement.public),
        ("Not protected", statement.not_protected),
    ):
        if entries:
            yield title
            for entry in entries:
                yield from _item("- ", entry)


def _promise(statement: Statement) -> Iterator[str]:
    yield from _item("Unit:      ", statement.unit)
    yield from _item("Relation:  ", statement.relation)
    yield from _item(
        "Model:     ",
        f"{statement.model} (joint differential privacy): the item side is released; a user's own vector is "
        "computed from that user's ratings and the item side, for that user alone",
    )
    stated = (statement.epsilon, statement.delta, statement.mu)
    epsilon, delta, mu = (_up(value) for value in stated if value is not None)
    yield from _item(
        "Guarantee: ",
        f"epsilon {epsilon} at delta {delta} (mu {mu}), exact Gaussian accounting over all releases",
    )


def _item(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=f"  {label}", subsequent_indent=" " * (2 + len(label))
    ) or [f"  {label}".rstrip()]


def _groups(releases: Sequence[Release]) -> Iterator[list[Release]]:
    """Releases that differ in nothing but their cost and one number in the name ("round 3") belong together."""
    groups: dict[object, list[Release]] = {}
    for release in releases:
        parts = re.split(r"\d+", release.name)
        stem = tuple(parts) if len(parts) == 2 else release.name
        groups.setdefault((stem, release.delta, *sorted(release.detail.items())), []).append(release)
    yield from groups.values()


def _row(group: Sequence[Release]) -> Iterator[str]:
    first = group[0]
    share = math.fsum(release.share for release in group)
    costs = sorted({release.mu for release in group})
    cost = _up(costs[0]) if len(costs) == 1 else f"{_up(costs[0])}..{_up(costs[-1])}"
    name, *rest = textwrap.wrap(_label(group), 46) or [repr(first.name)]
    yield f"  {name:<46}  {len(group):>4} x  mu {cost:<20}{100 * share:>6.1f} %".rstrip()
    yield from (f"  {line}" for line in rest)
    facts = [f"{key.replace('_', ' ')} {_fact(value)}" for key, value in first.detail.items()]
    if first.delta > 0.0:
        facts.append(f"delta {_up(first.delta)} each")
    if facts:
        yield from _item("    ", ", ".join(facts))


def _label(group: Sequence[Release]) -> str:
    """The name, with "1..6" where the group has six numbers in a row."""
    name = group[0].name
    numbers = sorted({int(found) for release in group for found in re.findall(r"\d+", release.name)})
    if len(numbers) < 2 or len({release.name for release in group}) < 2:
        return name
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    runs = (
        str(start) if start == end else f"{start}..{end}" for start, end in zip(starts, ends, strict=True)
    )
    return re.sub(r"\d+", ", ".join(runs), name)


def _fact(value: Detail) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _up(value: float) -> str:
    """Four digits, rounded up, so that what is read is never less than what is owed."""
    number = Context(prec=4, rounding=ROUND_CEILING).create_decimal(repr(value)).normalize()
    return f"{number:f}" if Decimal("1e-3") <= number < Decimal("1e6") else f"{number:e}"
