"""What a silo holds against the agreement: its own ratings, and every question. Private side."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import Refused
from discreet.methods.budgeted.public.schedule import ActivityQuestion, Question, RoundQuestion
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.base_agreement import Agreed, catalogue_digest
from discreet.types import Floats

__all__ = ["check_public", "check_question", "check_ratings", "same_release"]


# Machines differ in the last bits of a floating-point sum, and the steps of the item side can make more of it.
# What is compared with room is accuracy; cost and bounds are held by the silo's own ledger and its own integers.
_ROOM = 1e-6
_COST_ROOM = 1e-9


def check_question(asked: Question, expected: Question) -> None:
    """Refuse a question that asks for less noise, wider scales or anything else than expected."""
    if type(asked) is not type(expected) or asked.name != expected.name:
        raise Refused(f"the server asks for {asked.name!r} where {expected.name!r} is due")
    if not asked.mu <= expected.mu * (1.0 + _COST_ROOM):
        raise Refused(
            f"{asked.name!r} costs mu {asked.mu:.6g}, but {expected.mu:.6g} was planned: "
            "the server asks for less noise than agreed"
        )
    if isinstance(asked, ActivityQuestion) or isinstance(expected, ActivityQuestion):
        return
    _check_round(asked, expected)


def same_release(one: Mapping[str, Floats], other: Mapping[str, Floats]) -> bool:
    """Whether two accounts of a release agree to the last bit."""
    return list(one) == list(other) and all(np.array_equal(one[name], other[name]) for name in one)


def check_ratings(agreement: Agreement, ratings: Ratings) -> None:
    """Refuse ratings over other items or another range than agreed, and a silo that is one person."""
    check_public(agreement, ratings)
    if np.count_nonzero(np.diff(ratings.indptr)) < 2:
        raise Refused("a silo needs at least two users with ratings: a silo of one user is that user")


def check_public(agreement: Agreed, ratings: Ratings) -> None:
    """Refuse ratings over other items or another range than agreed."""
    if ratings.catalogue is None or catalogue_digest(ratings.catalogue) != agreement.catalogue:
        raise Refused("the ratings' catalogue is not the one agreed on; read them with the agreed item list")
    if ratings.rating_range != agreement.rating_range:
        raise Refused(
            f"the ratings' range is {ratings.rating_range} where {agreement.rating_range} was agreed on"
        )


def _check_round(asked: RoundQuestion, expected: RoundQuestion) -> None:
    side, own = asked.side, expected.side
    if (side.scale, side.centre) != (own.scale, own.centre):
        raise Refused("the server asks about another rating range than agreed")
    if (asked.frame.start, asked.units.curvature is None) != (
        expected.frame.start,
        expected.units.curvature is None,
    ):
        raise Refused(f"{asked.name!r} is not the round that follows from the releases so far")
    _compare(
        "item weights or units",
        (asked.item_weights, _units(asked)),
        (expected.item_weights, _units(expected)),
    )
    _compare("scales", (_scales(asked),), (_scales(expected),))
    _compare(
        "item side",
        (side.offsets, side.factors, asked.frame.whiten),
        (own.offsets, own.factors, expected.frame.whiten),
    )


def _compare(what: str, asked: tuple[Floats, ...], expected: tuple[Floats, ...]) -> None:
    for one, other in zip(asked, expected, strict=True):
        if one.shape != other.shape:
            raise Refused(f"the question's {what} have another shape than follows from the releases so far")
        largest = float(np.abs(other).max(initial=0.0))
        room = _ROOM * (np.abs(other) if what != "item side" else largest)
        if not (np.abs(one - other) <= room).all():
            raise Refused(
                f"the question's {what} differ from those that follow from the agreement and the releases so far"
            )


def _units(question: RoundQuestion) -> Floats:
    units = question.units
    return np.array([units.weight, units.moment, units.curvature or 1.0])


def _scales(question: RoundQuestion) -> Floats:
    side, frame = question.side, question.frame
    return np.array([*dataclasses.astuple(side.rule), frame.residual, frame.ratings_per_user])
