"""Settings of private Frank-Wolfe. Public."""

from __future__ import annotations

from typing import Literal

from discreet.methods.settings import Auto, Positive, Rounds
from discreet.methods.shared.public.sample import CentredSettings

__all__ = ["FrankWolfeSettings"]


class FrankWolfeSettings(CentredSettings):
    """Private Frank-Wolfe; described in :class:`discreet.FrankWolfe`."""

    rounds: Rounds = 12
    eigenvector: Literal["exact", "oja"] = "exact"
    oja_steps: Rounds = 4
    oja_rate: Positive = 3.0
    row_clip: Positive | Auto = "auto"
    nuclear_bound: Positive | Auto = "auto"
    nuclear_scale: Positive = 4.0
    skip_noise: bool = True
