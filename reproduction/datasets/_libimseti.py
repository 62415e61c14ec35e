"""LibimSeTi, a Czech dating site: users rate the profiles of other users."""

from __future__ import annotations

from discreet.data.ratings import Ratings
from reproduction.datasets._files import PUBLISHED, StrPath, find, number_range, separated

__all__ = ["libimseti"]

_PROFILES = 220_970
_RANGE = (1.0, 10.0)


def libimseti(path: StrPath) -> Ratings:
    """Read LibimSeTi; ratings run from 1 to 10 and the catalogue is the published profiles 1 to 220,970.

    Parameters
    ----------
    path
        ratings.dat (user, profile and rating with commas, no header), or the folder with it.
    """
    frame = separated(find(path, "ratings.dat"), ",", (0, 1, 2))
    catalogue = number_range(_PROFILES)
    return Ratings.from_frame(
        frame,
        user="user",
        item="item",
        rating="rating",
        rating_range=_RANGE,
        catalogue=catalogue,
        **PUBLISHED,
    )
