"""The blocks of a question to which nobody contributes: shapes, units and noise, from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.methods.budgeted.public.activity import ACTIVITY_GRID, activity_bound
from discreet.methods.budgeted.public.schedule import ActivityQuestion, Question
from discreet.privacy.gaussian.blocks import Block, Pattern, UserVector
from discreet.privacy.gaussian.energy_scaled import RoundContribution

__all__ = ["empty_blocks"]


def empty_blocks(question: Question, n_items: int, *, explicit: bool) -> Sequence[Block]:
    """What a holder without any users would answer; the same names, shapes, units and noise as everybody's."""
    if isinstance(question, ActivityQuestion):
        bins = int(np.log2(max(n_items, 1))) + 1
        unit = activity_bound(explicit=explicit) * ACTIVITY_GRID
        return [UserVector("activity", unit, np.zeros((0, 1 + bins + 2), dtype=np.int32))]
    pattern = Pattern(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), n_items)
    none = np.zeros(0)
    return RoundContribution.build(
        pattern,
        np.zeros((0, len(question.frame.whiten))),
        none,
        none,
        none,
        question.item_weights,
        question.units,
    ).blocks
