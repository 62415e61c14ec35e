"""What a device agreed to when it joined a task, and which questions that covers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .question import (
    MAX_ITEMS,
    Question,
    canonical,
    is_digest,
    is_epsilon,
    is_range,
    is_task,
    is_whole,
    read_fields,
)

__all__ = ["MAX_ROUNDS", "Terms", "TermsInvalid"]

MAX_ROUNDS = 10_000
MAX_EPSILON = 1000.0
_FIELDS = ("task", "epsilon", "rounds", "items", "range", "catalogue")


class TermsInvalid(ValueError):
    """Terms are not of the agreed form, or a question is outside of them."""


@dataclass(frozen=True, slots=True)
class Terms:
    """All that a device will ever tell a task's server.

    ``epsilon`` is the sum of what all answers may cost, ``rounds`` the number of the last round. The digest of the item
    list (:func:`.catalogue.digest`) is there so that everybody means the same item by a number.
    """

    task: str
    epsilon: float
    rounds: int
    items: int
    range: tuple[float, float]
    catalogue: str

    def __post_init__(self) -> None:
        demands = (
            ("task", is_task(self.task), "1 to 64 of a-z, 0-9 and -"),
            ("epsilon", is_epsilon(self.epsilon, MAX_EPSILON), f"above 0 and at most {MAX_EPSILON:g}"),
            ("rounds", is_whole(self.rounds, 1, MAX_ROUNDS), f"a whole number from 1 to {MAX_ROUNDS}"),
            ("items", is_whole(self.items, 1, MAX_ITEMS), f"a whole number from 1 to {MAX_ITEMS}"),
            ("range", is_range(self.range), "two finite numbers, the lower first"),
            ("catalogue", is_digest(self.catalogue), "a digest: 64 digits of 0-9 and a-f"),
        )
        for name, holds, wanted in demands:
            if not holds:
                raise TermsInvalid(f"{name} of the terms must be {wanted}")

    def check(self, question: Question) -> None:
        """Refuse a question outside of the terms."""
        if (question.task, question.items, question.range) != (self.task, self.items, self.range):
            raise TermsInvalid("the question is about another task, catalogue or range than was agreed")
        if question.round > self.rounds:
            raise TermsInvalid(f"the question is of round {question.round}; {self.rounds} were agreed")

    def check_cost(self, question: Question, spent: Fraction) -> None:
        """Refuse a question whose answer costs more than is left; the numbers are compared exactly."""
        if spent + Fraction(question.epsilon) > Fraction(self.epsilon):
            raise TermsInvalid(
                f"the answer would cost {question.epsilon:g}; {float(Fraction(self.epsilon) - spent):g} of the"
                f" agreed {self.epsilon:g} are left"
            )

    def to_json(self) -> str:
        """The terms in their one canonical form."""
        return canonical(self, _FIELDS)

    @classmethod
    def from_json(cls, text: str | bytes) -> Terms:
        """Read what :meth:`to_json` wrote; anything missing, added or out of range is refused."""
        try:
            return cls(**read_fields(text, _FIELDS, ("epsilon",)))
        except ValueError as error:
            raise TermsInvalid(str(error)) from error
