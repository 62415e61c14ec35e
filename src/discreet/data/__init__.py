"""Ratings, readers, splits and synthetic data: the private side. Public rooms may not import it."""

from discreet.data import splits, synthetic
from discreet.data.ratings import Ratings

__all__ = ["Ratings", "splits", "synthetic"]
