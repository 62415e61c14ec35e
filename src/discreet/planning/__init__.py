"""Plans: what quality to expect at which epsilon, on made-up markets, before any budget is spent.

Nothing here reads a rating; what it trains on, it makes up.
"""

from discreet.planning.picture import chart
from discreet.planning.result import Outcome, Plan
from discreet.planning.simulation import plan
from discreet.planning.sizes import Sizes
from discreet.planning.words import recommendation, reservations

__all__ = ["Outcome", "Plan", "Sizes", "chart", "plan", "recommendation", "reservations"]
