"""Published data sets: loaders, and which one is used where the paper's is not at hand."""

from reproduction.datasets.loaders import goodbooks, jester, libimseti, movielens, netflix

__all__ = ["goodbooks", "jester", "libimseti", "movielens", "netflix"]
