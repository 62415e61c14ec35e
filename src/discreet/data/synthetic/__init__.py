"""Synthetic data: the worlds of the papers, and a market with the skew of real data."""

from discreet.data.synthetic._drifting import drifting_market
from discreet.data.synthetic._low_rank import low_rank
from discreet.data.synthetic._market import market
from discreet.data.synthetic._poisson import poisson_silos

__all__ = ["drifting_market", "low_rank", "market", "poisson_silos"]
