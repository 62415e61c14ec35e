"""What a silo holds against the agreement: its own ratings, and every question. Private side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import Refused
from discreet.methods.public.query import Query
from discreet.model.wire import KIND, to_parts
from discreet.silos.shared.agreement import Agreement, BaseAgreement
from discreet.types import AnyArray, Floats

__all__ = ["check_public", "check_question", "check_ratings", "same_release"]


# Machines differ in the last bits of a floating-point sum, and the steps of the item side can make more of it.
# What is compared with room is accuracy; cost and bounds are held by the silo's own ledger and its own integers.
_ROOM = 1e-6
_COST_ROOM = 1e-9


def check_question(asked: Query[Any], expected: Query[Any], *, exact_cost: bool = False) -> None:
    """Refuse a question that asks for less noise, wider scales or anything else than expected.

    With ``exact_cost`` more noise is refused as well: where the server adds it, a lower cost would only make the
    silo's own account too small.
    """
    if type(asked) is not type(expected) or asked.name != expected.name:
        raise Refused(f"the server asks for {asked.name!r} where {expected.name!r} is due")
    if not asked.mu <= expected.mu * (1.0 + _COST_ROOM):
        raise Refused(
            f"{asked.name!r} costs mu {asked.mu:.6g}, but {expected.mu:.6g} was planned: "
            "the server asks for less noise than agreed"
        )
    if exact_cost and not asked.mu >= expected.mu * (1.0 - _COST_ROOM):
        raise Refused(f"{asked.name!r} costs mu {asked.mu:.6g}, but {expected.mu:.6g} was planned")
    (content, arrays), (own_content, own_arrays) = to_parts(asked), to_parts(expected)
    _compare_content("", content, own_content)
    if list(arrays) != list(own_arrays):
        raise Refused(f"{asked.name!r} is not the question that follows from the releases so far")
    for name, array in arrays.items():
        _compare_array(name, array, own_arrays[name])


def same_release(one: Mapping[str, Floats], other: Mapping[str, Floats]) -> bool:
    """Whether two accounts of a release agree to the last bit."""
    return list(one) == list(other) and all(np.array_equal(one[name], other[name]) for name in one)


def check_ratings(agreement: Agreement, ratings: Ratings) -> None:
    """Refuse ratings over other items or another range than agreed, and a silo that is one person."""
    check_public(agreement, ratings)
    if np.count_nonzero(np.diff(ratings.indptr)) < 2:
        raise Refused("a silo needs at least two users with ratings: a silo of one user is that user")


def check_public(agreement: BaseAgreement, ratings: Ratings) -> None:
    """Refuse ratings over other items, with other features of them, or another range than agreed."""
    if ratings.catalogue is None or ratings.catalogue.digest != agreement.catalogue:
        raise Refused("the ratings' catalogue is not the one agreed on; read them with the agreed item list")
    agreement.check_features(ratings.catalogue.features)
    if ratings.rating_range != agreement.rating_range:
        raise Refused(
            f"the ratings' range is {ratings.rating_range} where {agreement.rating_range} was agreed on"
        )


def _compare_content(path: str, asked: Any, expected: Any) -> None:
    """Numbers with room for the last bits, everything else exactly; the scale of the ratings exactly."""
    if isinstance(expected, dict) and isinstance(asked, dict):
        if expected.get(KIND) == "RatingScale" and asked != expected:
            raise Refused("the server asks about another rating range than agreed")
        if set(asked) == set(expected):
            for key, value in expected.items():
                if path or key != "mu":
                    _compare_content(f"{path}.{key}" if path else key, asked[key], value)
            return
    elif isinstance(expected, list) and isinstance(asked, list) and len(asked) == len(expected):
        for number, (one, other) in enumerate(zip(asked, expected, strict=True)):
            _compare_content(f"{path}.{number}", one, other)
        return
    elif type(expected) is float and isinstance(asked, int | float) and not isinstance(asked, bool):
        if abs(asked - expected) <= _ROOM * abs(expected):
            return
    elif type(asked) is type(expected) and asked == expected:
        return
    raise Refused(
        f"the question's {path or 'form'} differs from what follows from the agreement and the releases so far"
    )


def _compare_array(name: str, asked: AnyArray, expected: AnyArray) -> None:
    if asked.shape != expected.shape:
        raise Refused(f"the question's {name} has another shape than follows from the releases so far")
    if expected.dtype.kind == "i":
        same = np.array_equal(asked, expected)
    else:
        # Numbers that are all above zero are compared one by one, others by the largest among them.
        size = np.abs(expected)
        room = _ROOM * (size if (expected > 0.0).all() else size.max(initial=0.0))
        same = bool((np.abs(asked - expected) <= room).all())
    if not same:
        raise Refused(
            f"the question's {name} differs from what follows from the agreement and the releases so far"
        )
