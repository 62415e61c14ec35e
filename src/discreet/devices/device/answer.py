"""A device's answer: its own ratings, turned into one bit that hides them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence

from .item_side import DeviceItemSide, fold_in, residuals
from .question import Question, QuestionInvalid

__all__ = ["COIN_BITS", "answer", "flip_threshold", "respond", "truth"]

COIN_BITS = 64
"""Random bits one answer takes: 63 decide whether to flip, the lowest decides a tie."""
_DIGITS = 128


def answer(
    question: Question,
    ratings: Mapping[int, float],
    device_id: bytes,
    side: DeviceItemSide | None = None,
    randbits: Callable[[int], int] = secrets.randbits,
) -> int:
    """One bit, 0 or 1, that is epsilon-LDP for the question's epsilon.

    Parameters
    ----------
    question
        What is asked; the device must be among its participants.
    ratings
        Item index to rating; may be empty. Those outside of catalogue or range do not count.
    device_id
        The device's pseudonym in this task, 16 bytes.
    side
        The item side released so far; needed for factors.
    randbits
        Where the coin comes from. Leave it: anything predictable voids the promise.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: replace them all. Whatever the ratings, each bit has a
    chance of at least 1 / (1 + e^epsilon): see ``proofs/rotated.md``. Nothing else that depends on the ratings leaves,
    not even whether there is an answer: a refusal follows from question, pseudonym and the sizes of ``side`` alone,
    and numbers that a server chose to make the arithmetic fail for some ratings make a tie, which the coin decides.
    """
    if not question.takes_part(device_id):
        raise QuestionInvalid("this question is for other devices")
    wanted = (question.items, question.rank)
    if question.kind == "factors" and (side is None or (side.items, side.rank) != wanted):
        raise QuestionInvalid("a question about factors needs a released item side of the same size and rank")
    try:
        value = truth(question, *_usable(question, ratings), device_id, side)
    except Exception:  # whatever it is, it depends on the ratings: nobody may notice
        value = 0.0
    return respond(value, question.epsilon, randbits(COIN_BITS))


def truth(
    question: Question,
    items: Sequence[int],
    values: Sequence[float],
    device_id: bytes,
    side: DeviceItemSide | None = None,
) -> float:
    """The device's coordinate of its rotated vector, up to a positive factor: what :func:`respond` hides.

    The length of the vector does not matter for the sign, so it is not normalised. Private, and so is whether it
    raises: :func:`answer` is what a device calls.
    """
    entries, repeat = _entries(question, items, values, side)
    rotation, coordinate = question.place(device_id)
    blocks: dict[int, bytes] = {}
    total = 0.0
    for position, value in enumerate(entries):
        index = items[position // repeat] * repeat + position % repeat
        block = index >> 8
        if block not in blocks:
            blocks[block] = question.sign_block(rotation, block)
        minus = blocks[block][(index & 255) >> 3] >> (7 - (index & 7)) & 1
        minus ^= (index & coordinate).bit_count() & 1
        total += -value if minus else value
    return total


def respond(value: float, epsilon: float, word: int) -> int:
    """Randomised response on the sign of ``value``; a tie is decided by the coin.

    The same as ``discreet.privacy.local.rotated.respond_to_sign`` for one device: the only copy, because
    this folder stands alone. A test compares the two.
    """
    bit = word & 1 if value == 0.0 else int(value > 0.0)
    return bit ^ int(word >> 1 < flip_threshold(epsilon))


def flip_threshold(epsilon: float) -> int:
    """How many of the 2^63 outcomes of the coin flip the bit: 1 / (1 + e^epsilon) of them, rounded up.

    Whole numbers alone, so that every language and machine has the same: e^epsilon is its series in units of 2^-128,
    each term rounded down, so it is never too large and the threshold never too small. Never more than half either:
    the series starts with 1.
    """
    numerator, denominator = epsilon.as_integer_ratio()
    step = (numerator << _DIGITS) // denominator
    total = term = 1 << _DIGITS
    count = 1
    while term:
        term = term * step // (count << _DIGITS)
        total += term
        count += 1
    return -((-1 << COIN_BITS - 1 + _DIGITS) // (total + (1 << _DIGITS)))


def _entries(
    question: Question, items: Sequence[int], values: Sequence[float], side: DeviceItemSide | None
) -> tuple[list[float], int]:
    """The device's vector on its own items, item after item, and how many entries an item has."""
    if question.kind == "popularity":
        return [1.0] * len(items), 1
    if question.kind == "offsets" or side is None:
        side = DeviceItemSide(0, question.items)
    coefficients = fold_in(items, values, side)
    left = residuals(items, values, side, coefficients)
    if question.kind == "offsets":
        return left, 1
    return [rest * own for rest in left for own in coefficients[1:]], question.rank


def _usable(question: Question, ratings: Mapping[int, float]) -> tuple[list[int], list[float]]:
    """Items in order and their ratings, without those outside of the catalogue or the range."""
    low, high = question.range
    items = sorted(i for i, value in ratings.items() if 0 <= i < question.items and low <= value <= high)
    return items, [float(ratings[item]) for item in items]
