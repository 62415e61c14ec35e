"""Ratings, readers, splits and synthetic data: the private side. Public rooms may not import it."""

from discreet.data.preparation import prepare
from discreet.data.ratings import Ratings
from discreet.data.stored import StoredRatings

__all__ = ["Ratings", "StoredRatings", "prepare"]
