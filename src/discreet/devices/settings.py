"""Public settings of a task on devices."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.methods.settings import Auto, Settings

__all__ = ["METHOD", "DeviceSettings"]

METHOD = "devices"
"""Name of the method in a model's folder."""


class DeviceSettings(Settings):
    """Public settings of a task.

    Attributes
    ----------
    goal
        ``"rate"``: predicted ratings, and lists from popularity and predictions together. ``"rank"``: lists alone;
        every question is about popularity, which is what lists rest on, and nothing is learnt about ratings.
    groups
        Devices are dealt into this many groups; in every pass each group is asked one question. The first question of
        a pass is popularity, the others are offsets.
    passes
        How many questions each device answers, each for its share of epsilon; ``"auto"`` takes as many as leaves each
        the cost at which answers tell most.
    factor_rounds, rank
        How many of the last rounds ask for factors instead, and how many factors. 0 rounds: offsets alone,
        which is best unless there are hundreds of devices for each item and each has many ratings.
    rotations
        Public rotations of a round, a power of two; ``"auto"``: 16, fewer where memory would pass 64 MiB.
    spread
        How much one user's ratings vary (standard deviation); ``"auto"``: a quarter of the range's width.
    """

    goal: Literal["rate", "rank"] = "rate"
    groups: Annotated[int, Field(ge=2, le=64)] = 4
    passes: Annotated[int, Field(ge=1, le=64)] | Auto = "auto"
    factor_rounds: Annotated[int, Field(ge=0, le=1000)] = 0
    rank: Annotated[int, Field(ge=1, le=64)] = 2
    rotations: Annotated[int, Field(ge=1, le=256)] | Auto = "auto"
    spread: Annotated[float, Field(gt=0.0)] | Auto = "auto"
