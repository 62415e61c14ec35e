"""The item side of deviations from a user's own level. Public."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.catalogue import RatingScale
from discreet.methods.prototypes.public.evidence import SCATTER, Evidence
from discreet.methods.prototypes.public.profile import common_level, differences, factors, offsets
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide

__all__ = ["level_side"]

# Usual variance of users' levels, in squared half ranges. That of ratings over it, and over what is unknown of the mean
# level, is how many ratings at that level count beside the user's own: three at most.
_LEVELS = SCATTER / 3.0


def level_side(silos: Sequence[Evidence], scale: RatingScale, rank: int) -> ItemSide:
    """Offsets, and at most `rank` factors; a user's own level is fitted with the user's vector."""
    low, high = scale.bounds
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    found = factors(silos, differences(silos, rank))
    # Factors are scaled so that users have variance 1, so the ridge is the variance of a rating around the fit.
    level, unknown = common_level(silos)
    rule = Ridge(SCATTER / (_LEVELS + unknown), SCATTER * half**2)
    return ItemSide(scale, middle + half * level, half * offsets(silos), half * found, rule)
