"""Loaders for published data sets. Nothing is downloaded: each takes the path of what the person has.

Scale and catalogue are what the publisher documents, never what the ratings happen to contain.
"""

from reproduction.datasets._goodbooks import goodbooks
from reproduction.datasets._jester import jester
from reproduction.datasets._libimseti import libimseti
from reproduction.datasets._movielens import movielens
from reproduction.datasets._netflix import netflix

__all__ = ["goodbooks", "jester", "libimseti", "movielens", "netflix"]
