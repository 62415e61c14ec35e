"""Settings of DPALS: table 3 of the paper, in words. Public."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.methods.settings import Auto, Exponent, MaxRatings, Positive, PrivateSettings, Rounds, Share

__all__ = ["DPALSSettings"]

NotNegative = Annotated[float, Field(ge=0.0)]
Sigma = Annotated[float, Field(ge=1e-6, le=1e9)]


class DPALSSettings(PrivateSettings):
    """DPALS; described in :class:`discreet.DPALS`."""

    rank: Annotated[int, Field(ge=1, le=512)] = 32
    rounds: Rounds = 2
    max_ratings: MaxRatings = 50
    row_clip: Positive = 1.0
    entry_clip: Positive | Auto = "auto"
    penalty: Positive = 80.0
    gravity: NotNegative = 0.0
    item_exponent: Exponent = 0.5
    user_exponent: Exponent = 1.0
    typical_ratings: Positive = 100.0
    sampling: Literal["tail", "uniform", "weights"] = "tail"
    weight_exponent: Exponent = 0.5
    frequent_share: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    centre: Literal["mean", "middle"] = "mean"
    start: Literal["random", "spectral"] = "random"
    start_share: Share = 0.2
    start_scale: Positive = 1.0
    preprocessing_share: Share = 0.1
    noise_ratio: Annotated[float, Field(ge=1e-6, le=1e6)] = 2.0
    sigma_matrix: Sigma | Auto = "auto"
    sigma_vector: Sigma | Auto = "auto"
    sigma_moment: Sigma | Auto = "auto"
    sigma_counts: Sigma | Auto = "auto"
    project: bool = True
    orthonormal: bool = False
    split_users: bool = False

    @property
    def needs_counts(self) -> bool:
        """Whether anything reads item counts."""
        return self.sampling != "uniform" or self.frequent_share < 1.0 or self.item_exponent > 0.0
