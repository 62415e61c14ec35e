"""Whether integers have the geometric distribution that they should have."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import stats


def tail_p(sample: npt.NDArray[np.int64], rate: float, *, two_sided: bool) -> float:
    """p-value of a chi-square test against the stated distribution."""
    decay = math.exp(-rate)
    top = int(6 / rate) + 2
    values = np.arange(-top, top + 1) if two_sided else np.arange(0, top + 1)
    weight = (1 - decay) / (1 + decay) if two_sided else 1 - decay
    expected = weight * decay ** np.abs(values) * len(sample)
    counts = np.array([(sample == value).sum() for value in values], dtype=float)
    fine = expected >= 10
    observed = np.append(counts[fine], len(sample) - counts[fine].sum())
    wanted = np.append(expected[fine], len(sample) - expected[fine].sum())
    return float(stats.chisquare(observed, wanted).pvalue)
