"""Whether numbers are Gaussian of a scale, with power against 1 %, and have nothing in common."""

from __future__ import annotations

import numpy as np

from tests.privacy.worlds import Floats

# Chance of a false alarm: two in a thousand million for each comparison.
MOST_STANDARD_ERRORS = 6.0


def check_variance(values: Floats, sigma: float) -> None:
    """The mean square is that of Gaussian numbers of this scale; at 1 % off this needs 400,000 numbers to fail."""
    error = float((values.ravel() ** 2).mean()) / sigma**2 - 1.0
    errors = error / np.sqrt(2.0 / values.size)
    assert abs(errors) < MOST_STANDARD_ERRORS, (
        f"scale is off by {error / 2:.3%} ({errors:.1f} standard errors)"
    )


def check_uncorrelated(one: Floats, other: Floats) -> None:
    """No correlation between two rows of numbers of the same length."""
    scale = np.sqrt(float((one**2).sum()) * float((other**2).sum()))
    errors = float((one * other).sum()) / scale * np.sqrt(one.size)
    assert abs(errors) < MOST_STANDARD_ERRORS, f"correlated: {errors:.1f} standard errors"
