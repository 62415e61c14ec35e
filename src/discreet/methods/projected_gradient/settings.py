"""Settings of private projected gradient. Public."""

from __future__ import annotations

from discreet.methods.settings import Auto, Positive, Rank, Rounds, Share
from discreet.methods.shared.public.sample import CentredSettings

__all__ = ["ProjectedGradientSettings"]


class ProjectedGradientSettings(CentredSettings):
    """Private projected gradient; described in :class:`discreet.ProjectedGradient`."""

    rounds: Rounds = 4
    rank: Rank = 8
    step_size: Positive | Auto = "auto"
    shrinkage: Share = 0.05
    row_clip: Positive | Auto = "auto"
    gravity: Positive | Auto = "auto"
