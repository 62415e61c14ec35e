"""Which test rows a list should bring back, and which it should not."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.catalogue import RatingScale
from discreet.data.ratings import Ratings
from discreet.errors import SettingsInvalid
from discreet.types import Bools

__all__ = ["Relevance"]

_FIFTHS = 0.4


@dataclass(frozen=True)
class Relevance:
    """Bounds of what counts as liked and as disliked.

    Parameters
    ----------
    liked
        Ratings from here up; ``None`` for clicks, which all count.
    disliked
        Ratings up to here, if they are below ``liked``; ``None`` for clicks.
    """

    liked: float | None
    disliked: float | None

    @classmethod
    def of(cls, scale: RatingScale, relevant: float | None = None) -> Relevance:
        """The upper two fifths of the rating range and the lower two, or from ``relevant`` up.

        Examples
        --------
        >>> one = Relevance.of(RatingScale((1.0, 5.0)))
        >>> one.liked, one.disliked
        (3.4, 2.6)
        """
        if scale.range is None:
            if relevant is not None:
                raise SettingsInvalid(
                    "these are clicks, and every row of the test is relevant; leave out relevant (--relevant)"
                )
            return cls(None, None)
        low, high = scale.range
        if relevant is None:
            relevant = high - _FIFTHS * (high - low)
        if not low <= relevant <= high:
            raise SettingsInvalid(
                f"relevant (--relevant) is {relevant:g}, outside the rating range {scale}; give a rating of the range"
            )
        return cls(float(relevant), low + _FIFTHS * (high - low))

    def masks(self, test: Ratings) -> tuple[Bools, Bools]:
        """Which entries are liked, and which disliked."""
        if self.liked is None or self.disliked is None:
            every = test.values >= test.values
            return every, ~every
        liked = test.values >= self.liked
        return liked, ~liked & (test.values <= self.disliked)
