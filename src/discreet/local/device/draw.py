"""Drawing an answer so that nothing but the bit depends on the ratings: not even whether there is one.

A server chooses the question and the released numbers, and may choose them so that the arithmetic fails for some
ratings and not for others. A device that stayed silent then would tell which it has.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from .answer import COIN_BITS, respond, truth
from .question import Question, QuestionInvalid
from .released import Released

__all__ = ["check_fits", "draw"]


def check_fits(question: Question, released: Released | None) -> None:
    """Refuse an item side of another size than the question; the ratings are not looked at."""
    rank = 0 if released is None else released.rank
    other = released is not None and released.items != question.items
    if other or (question.kind == "factors" and rank != question.rank):
        raise QuestionInvalid("the question and the released item side are of different sizes")


def draw(
    question: Question, ratings: Mapping[int, float], device_id: bytes, released: Released | None = None
) -> int:
    """One bit, whatever the ratings: those outside of catalogue or range do not count, and no error leaves.

    Notes
    -----
    **Privacy**. Epsilon-LDP for the question's epsilon, for every question and every released item side: the bit
    passes through randomised response whatever the arithmetic before it did.
    """
    low, high = question.range
    items = sorted(i for i, value in ratings.items() if 0 <= i < question.items and low <= value <= high)
    try:
        value = truth(question, items, [float(ratings[item]) for item in items], device_id, released)
    except (ArithmeticError, ValueError):
        value = 0.0
    return respond(value, question.epsilon, secrets.randbits(COIN_BITS))
