"""Loaders for published data sets. Nothing is downloaded: each takes the path of what the person has.

Scale and catalogue are what the publisher documents, never what the ratings happen to contain.
"""

from discreet.data.benchmarks._goodbooks import goodbooks
from discreet.data.benchmarks._jester import jester
from discreet.data.benchmarks._libimseti import libimseti
from discreet.data.benchmarks._movielens import movielens
from discreet.data.benchmarks._netflix import netflix

__all__ = ["goodbooks", "jester", "libimseti", "movielens", "netflix"]
