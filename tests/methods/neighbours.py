"""How far some users move a release, in units of what it costs: the audit's own measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.audit.replay import Scales, distance, noise_scales
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.totals import exact_totals

__all__ = ["Scales", "distance", "move", "noise_scales"]

MU = 0.01


def move(full: Sequence[Block], less: Sequence[Block]) -> float:
    """How many units of the bound lie between two releases that are as the gate makes them but for the noise."""
    pairs = zip(exact_totals(full), exact_totals(less), strict=True)
    return distance([(one.value - other.value).astype(np.float64) for one, other in pairs], full, MU)
