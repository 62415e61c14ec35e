"""Alternating least squares without privacy: the yardstick of all private methods."""

from discreet.methods.als.estimator import ALS, ALSSettings

__all__ = ["ALS", "ALSSettings"]
