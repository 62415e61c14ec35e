"""Settings of private SVD. Public."""

from __future__ import annotations

from discreet.methods.settings import Auto, Positive, Rank, Share
from discreet.methods.shared.public.sample import SampleSettings

__all__ = ["SVDSettings"]


class SVDSettings(SampleSettings):
    """Private SVD; described in :class:`discreet.PrivateSVD`."""

    rank: Rank = 16
    mean_share: Share | Auto = "auto"
    stabiliser: Positive | Auto = "auto"
    user_stabiliser: Positive = 5.0
    entry_clip: Positive | Auto = "auto"
    row_clip: Positive | Auto = "auto"
    offset_penalty: Positive = 3.0
    penalty: Positive | Auto = "auto"
    gravity: Positive | Auto = "auto"
    denoise: bool = True
