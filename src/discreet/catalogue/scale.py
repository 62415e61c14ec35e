"""The scale of the ratings: from the lowest to the highest, or clicks without any. Public, like the catalogue."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from discreet.errors import SettingsInvalid
from discreet.types import Floats, Shorts

__all__ = ["CLICKS", "Goal", "RatingScale", "why_no_range"]

Goal: TypeAlias = Literal["rank", "rate"]
"""What a model is for: to put items in order, or to predict ratings."""

# What a rating says of its item: in training, in twentieths, and in a person's own history, where it may speak against.
# Of one to five stars 0, 0, 0.4, 0.8, 1 and -0.8, -0.4, 0.2, 0.7, 1; what lies between is interpolated.
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_LIKED = (0.0, 0.0, 8.0, 16.0, 20.0)
_OPINIONS = (-0.8, -0.4, 0.2, 0.7, 1.0)


# Models are served in single precision, which tells some seven digits apart.
_FARTHEST, _FINEST = 1e6, 1e-6


def why_no_range(low: float, high: float) -> str | None:
    """What is wrong with a lowest and a highest rating, if anything is."""
    named = f"the rating range {low:g} to {high:g}"
    if not -math.inf < low < high < math.inf:
        return f"{named} must be finite and rise from low to high"
    if (farthest := max(abs(low), abs(high))) > _FARTHEST:
        return f"{named} goes beyond {_FARTHEST:g}, where single precision loses digits; give ratings in larger units"
    if high - low < _FINEST * max(1.0, farthest):
        return f"{named} is narrower than single precision tells apart; give ratings in smaller units"
    return None


@dataclass(frozen=True)
class RatingScale:
    """Lowest and highest rating (explicit feedback); ``None`` for clicks (implicit feedback), which count as 1."""

    range: tuple[float, float] | None

    def __post_init__(self) -> None:
        if self.range is None:
            return
        low, high = self.range
        if wrong := why_no_range(low, high):
            raise SettingsInvalid(wrong)
        object.__setattr__(self, "range", (float(low), float(high)))

    @property
    def explicit(self) -> bool:
        """Ratings rather than clicks."""
        return self.range is not None

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value; a click is 1."""
        return (1.0, 1.0) if self.range is None else self.range

    @property
    def middle(self) -> float:
        """Middle of the range; 0 for clicks."""
        return 0.0 if self.range is None else 0.5 * (self.range[0] + self.range[1])

    @property
    def half_width(self) -> float:
        """Half of the range; 1 for clicks."""
        return 1.0 if self.range is None else 0.5 * (self.range[1] - self.range[0])

    def farthest(self, centre: float) -> float:
        """How far from ``centre`` a value can lie; 1 for clicks."""
        if self.range is None:
            return 1.0
        low, high = self.range
        return max(high - centre, centre - low)

    def scaled(self, values: Floats) -> Floats:
        """Values in units of the half width around the middle: from -1 to 1."""
        return (values - self.middle) / self.half_width

    def clipped(self, predictions: Floats) -> Floats:
        """Predictions brought into the range; scores of clicks stay as they are."""
        return predictions if self.range is None else np.clip(predictions, *self.range)

    def liked(self, values: Floats) -> Shorts:
        """How much each value says that its item was liked, in twentieths; a click is 1.

        Nothing in the lower quarter of the range, 0.4 in the middle, 0.8 at three quarters. A public rule of the range.

        Examples
        --------
        >>> RatingScale((1.0, 5.0)).liked(np.array([1.0, 2.0, 3.0, 4.0, 5.0])).tolist()
        [0, 0, 8, 16, 20]
        """
        if self.range is None:
            return np.ones(len(values), np.int16)
        return np.trunc(np.interp(self._place(values), _QUARTERS, _LIKED) + 1e-9).astype(np.int16)

    def opinions(self, values: Floats) -> Floats:
        """How far each value of a person's own history speaks for more of the kind, or against it, below 0.

        A click is 1; "not for me", which is -1 where there are no ratings, is as the lowest rating.

        Examples
        --------
        >>> RatingScale((1.0, 5.0)).opinions(np.array([1.0, 2.0, 3.0, 4.0, 5.0])).tolist()
        [-0.8, -0.4, 0.2, 0.7, 1.0]
        """
        if self.range is None:
            return np.where(np.asarray(values) < 0.0, _OPINIONS[0], 1.0)
        return np.interp(self._place(values), _QUARTERS, _OPINIONS)

    def _place(self, values: Floats) -> Floats:
        """From 0 at the lowest rating to 1 at the highest."""
        low, high = self.bounds
        return (np.asarray(values, np.float64) - low) / (high - low)

    def __str__(self) -> str:
        return "clicks" if self.range is None else f"{self.range[0]:g} to {self.range[1]:g}"


CLICKS = RatingScale(None)
