"""The public grids on which contributions become integers, and how much float rounding is allowed for.

Truncation toward zero never raises a norm, so whatever is bounded before it is bounded after it.
"""

from __future__ import annotations

__all__ = ["COUNT", "FEATURE", "LOSS", "MARGIN", "MEAN", "SLACK", "TARGET", "VOTE_MARGIN", "WEIGHT"]

# Bits of the grid, sign excluded. A feature row is stretched to this norm, so it keeps 14 bits however small
# its owner's weight is; the weight goes into the targets, of which a user with one item can fill 15 bits.
FEATURE = float(2**14)
TARGET = float(2**15 - 1)
# Weights of items, and counts and means over users, are single numbers: they can be finer.
WEIGHT = float(2**28)
COUNT = float(2**20)
MEAN = float(2**20)
LOSS = float(2**22)
# Scaled down by this much before truncation, so that float rounding cannot lift an energy above 1.
MARGIN = 1.0 - 1e-10
# The same where only one division and one root were rounded.
VOTE_MARGIN = 1.0 - 1e-12
# Float rounding in computing energies (relative error below 1e-12 for any row length) is allowed for by
# this much in the gate's check and paid for by the same amount in the noise.
SLACK = 1e-9
