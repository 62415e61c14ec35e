"""Plans: what quality to expect at which epsilon, on made-up markets, before any budget is spent.

Nothing here reads a rating; what it trains on, it makes up.
"""

from discreet.planning.result import Outcome, Plan, chart, recommendation, reservations
from discreet.planning.simulation import plan
from discreet.planning.worlds import Sizes

__all__ = ["Outcome", "Plan", "Sizes", "chart", "plan", "recommendation", "reservations"]
