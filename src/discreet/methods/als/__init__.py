"""Alternating least squares without privacy: the yardstick of all private methods."""

from discreet.methods.als.estimator import ALS

__all__ = ["ALS"]
