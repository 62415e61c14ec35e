"""A question of the schedule taken apart into numbers and arrays, and put together again to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from discreet.catalogue import RatingScale
from discreet.errors import Refused
from discreet.methods.budgeted.public.schedule import ActivityQuestion, Question, RoundQuestion
from discreet.methods.budgeted.public.update import Frame
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.energy_scaled import Units
from discreet.types import Floats

__all__ = ["Scales", "build_question", "question_arrays", "question_scales"]


class Scales(BaseModel):
    """The numbers of a round's question beside its arrays."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    feedback: Literal["explicit", "implicit"]
    centre: float
    rating_range: tuple[float, float] | None
    offset_penalty: float
    factor_penalty: float
    gravity: float
    residual: float
    ratings_per_user: float
    start: bool
    weight: float
    moment: float
    curvature: float | None


def question_arrays(question: Question) -> dict[str, Floats]:
    """The arrays of a question, in order."""
    if isinstance(question, ActivityQuestion):
        return {}
    side = question.side
    return {
        "offsets": side.offsets,
        "factors": side.factors,
        "whiten": question.frame.whiten,
        "item_weights": question.item_weights,
    }


def question_scales(question: Question) -> Scales | None:
    """The numbers of a question; ``None`` for the first, which has none."""
    if isinstance(question, ActivityQuestion):
        return None
    side, frame, units = question.side, question.frame, question.units
    return Scales(
        feedback=side.scale.feedback,
        centre=float(side.centre),
        rating_range=side.scale.range,
        offset_penalty=float(side.ridge.offset_penalty) if side.scale.explicit else 1.0,
        factor_penalty=float(
            side.ridge.factor_penalty if side.scale.explicit else side.clicks.factor_penalty
        ),
        gravity=0.0 if side.scale.explicit else float(side.clicks.gravity),
        residual=float(frame.residual),
        ratings_per_user=float(frame.ratings_per_user),
        start=bool(frame.start),
        weight=float(units.weight),
        moment=float(units.moment),
        curvature=None if units.curvature is None else float(units.curvature),
    )


def build_question(name: str, mu: float, scales: Scales | None, arrays: Mapping[str, Floats]) -> Question:
    """The question back from its parts; refuses parts that are missing or too many."""
    if scales is None:
        if arrays:
            raise Refused("the first question has no arrays")
        return ActivityQuestion(name, mu)
    if list(arrays) != ["offsets", "factors", "whiten", "item_weights"]:
        raise Refused("a question holds offsets, factors, coordinates and item weights")
    scale = RatingScale(scales.rating_range)
    rule = (
        Ridge(scales.offset_penalty, scales.factor_penalty)
        if scale.explicit
        else Clicks(scales.gravity, scales.factor_penalty)
    )
    side = ItemSide(scale, scales.centre, arrays["offsets"], arrays["factors"], rule)
    frame = Frame(arrays["whiten"], scales.residual, scales.ratings_per_user, scales.start)
    units = Units(scales.weight, scales.moment, scales.curvature)
    return RoundQuestion(name, mu, side, frame, arrays["item_weights"], units)
