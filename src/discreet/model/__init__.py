"""What is released: offsets, factors, catalogue and statement, and everything one can do with them alone.

Nothing in this package imports what holds ratings: a model recommends for a person from that person's own
history and the released arrays.
"""

from discreet.model.history import Histories, History
from discreet.model.model import Model
from discreet.model.recommendations import Recommendation, Recommendations

__all__ = ["Histories", "History", "Model", "Recommendation", "Recommendations"]
