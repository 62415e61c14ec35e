"""Settings of plain ALS."""

from __future__ import annotations

from discreet.catalogue import Goal
from discreet.methods.settings import Auto, Exponent, Positive, Rank, Rounds, Settings

__all__ = ["ALSSettings"]


class ALSSettings(Settings):
    """Plain ALS; described in :class:`discreet.ALS`."""

    goal: Goal = "rate"
    rank: Rank | Auto = "auto"
    rounds: Rounds | Auto = "auto"
    offset_penalty: Positive | Auto = "auto"
    penalty: Positive | Auto = "auto"
    count_exponent: Exponent | Auto = "auto"
    gravity: Positive | Auto = "auto"
