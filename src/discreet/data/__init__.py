"""Ratings in: the private side. Nothing in here may be imported by what is released."""

from discreet.data import splits, synthetic
from discreet.data.ratings import Ratings

__all__ = ["Ratings", "splits", "synthetic"]
