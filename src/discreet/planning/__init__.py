"""What to expect of an epsilon, from sizes alone, before any budget is spent."""

from discreet.planning.simulation import Outcome, Plan, chart, plan, recommendation, reservations
from discreet.planning.worlds import Sizes

__all__ = ["Outcome", "Plan", "Sizes", "chart", "plan", "recommendation", "reservations"]
