"""What a device agreed to when it joined a task, and which questions that covers."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction

from .question import MAX_ITEMS, Question
from .strict_json import is_number, read_object

__all__ = ["MAX_ROUNDS", "Terms", "TermsInvalid"]

MAX_ROUNDS = 10_000
MAX_EPSILON = 1000.0
_TASK = re.compile(r"[a-z0-9-]{1,64}\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_FIELDS = ("task", "epsilon", "rounds", "items", "range", "catalogue")


class TermsInvalid(ValueError):
    """Terms are not of the agreed form, or a question is outside of them."""


@dataclass(frozen=True, slots=True)
class Terms:
    """All that a device will ever tell a task's server.

    Parameters
    ----------
    task
        Name of the task.
    epsilon
        Sum of what all answers together may cost.
    rounds
        Number of the last round.
    items, range
        Size of the catalogue; lowest and highest rating.
    catalogue
        Digest of the item list (:func:`.catalogue.digest`), so that everybody means the same item by a number.
    """

    task: str
    epsilon: float
    rounds: int
    items: int
    range: tuple[float, float]
    catalogue: str

    def __post_init__(self) -> None:
        low, high = self.range
        if not (isinstance(self.task, str) and _TASK.match(self.task)):
            raise TermsInvalid("the task's name must be 1 to 64 of a-z, 0-9 and -")
        if not (type(self.epsilon) is float and 0.0 < self.epsilon <= MAX_EPSILON):
            raise TermsInvalid(f"epsilon of the terms must be above 0 and at most {MAX_EPSILON:g}")
        if not (type(self.rounds) is int and 1 <= self.rounds <= MAX_ROUNDS):
            raise TermsInvalid(f"rounds of the terms must be a whole number from 1 to {MAX_ROUNDS}")
        if not (type(self.items) is int and 1 <= self.items <= MAX_ITEMS):
            raise TermsInvalid(f"items of the terms must be a whole number from 1 to {MAX_ITEMS}")
        if not (isinstance(self.catalogue, str) and _DIGEST.match(self.catalogue)):
            raise TermsInvalid("catalogue of the terms must be a digest: 64 digits of 0-9 and a-f")
        numbers = type(low) is float and type(high) is float and math.isfinite(low) and math.isfinite(high)
        if not (numbers and low < high):
            raise TermsInvalid("range of the terms must be two numbers, the lower first")

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
        fields = {name: getattr(self, name) for name in _FIELDS}
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Terms:
        """Read what :meth:`to_json` wrote; anything missing, added or out of range is refused."""
        try:
            fields = read_object(text)
        except ValueError as error:
            raise TermsInvalid(f"terms are one JSON object: {error}") from error
        if set(fields) != set(_FIELDS):
            raise TermsInvalid(f"terms have exactly the fields {', '.join(_FIELDS)}")
        span = fields["range"]
        if (
            not isinstance(span, list)
            or len(span) != 2
            or not all(map(is_number, [*span, fields["epsilon"]]))
        ):
            raise TermsInvalid("epsilon and both ends of the range must be numbers")
        return cls(
            **{**fields, "epsilon": float(fields["epsilon"]), "range": (float(span[0]), float(span[1]))}
        )
