"""Who touched what: the sparse pattern that all of a release's item blocks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.errors import RatingsInvalid
from discreet.types import Floats, Shorts

__all__ = ["MOST_USERS", "Pattern", "spans"]

Ints = npt.NDArray[np.integer]
Span = tuple[int, int]

MOST_USERS = 2**21
"""No contribution is larger than an int32, so double precision adds up those of so many users without error."""


def spans(n_users: int) -> list[Span]:
    """Users in order, at most :data:`MOST_USERS` at a time; one empty span where there is nobody."""
    starts = range(0, max(n_users, 1), MOST_USERS)
    return [(start, min(start + MOST_USERS, n_users)) for start in starts]


@dataclass(frozen=True)
class Pattern:
    """Which user touches which item, user-major and item-major. Private.

    Parameters
    ----------
    indptr, items
        CSR by user, a user's items strictly ascending.
    n_items
        Size of the public catalogue.

    Notes
    -----
    **Privacy**. The kernels read memory where these arrays point, and energies count each pair once. So what would
    let a user count twice, or make the sums read something else than the energies did, is refused here.
    """

    indptr: Ints
    items: Ints
    n_items: int

    def __post_init__(self) -> None:
        ends = np.asarray(self.indptr)
        if len(ends) == 0 or ends[0] != 0 or ends[-1] != len(self.items) or (ends[1:] < ends[:-1]).any():
            raise RatingsInvalid("the row pointers must rise from 0 to the number of pairs")
        if len(self.items) == 0:
            return
        if self.items.min() < 0 or self.items.max() >= self.n_items:
            raise RatingsInvalid("an item index lies outside the catalogue")
        # Compared, not subtracted: a difference of unsigned numbers is never negative.
        rising = self.items[1:] > self.items[:-1]
        starts = ends[1:-1]
        rising[starts[(starts > 0) & (starts < len(self.items))] - 1] = True
        if not rising.all():
            raise RatingsInvalid("a user's items must be strictly ascending; repeated pairs are not allowed")

    @classmethod
    def empty(cls, n_items: int) -> Pattern:
        """No users, over a catalogue of this size."""
        return cls(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), n_items)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.indptr) - 1

    @cached_property
    def counts(self) -> Floats:
        """Items per user."""
        return np.diff(self.indptr).astype(np.float64)

    @cached_property
    def by_item(self) -> tuple[Ints, Ints, Ints]:
        """The same pairs item by item: (indptr, users, position in the user-major order)."""
        return kernels.transpose(self.indptr, self.items, self.n_items)

    @cached_property
    def parts(self) -> Sequence[tuple[Pattern, Span, Span]]:
        """The same, at most :data:`MOST_USERS` users at a time, with the spans of users and of pairs of each part."""
        if self.n_users <= MOST_USERS:
            return [(self, (0, self.n_users), (0, len(self.items)))]
        parts = []
        for start, stop in spans(self.n_users):
            first, last = int(self.indptr[start]), int(self.indptr[stop])
            rows = self.indptr[start : stop + 1] - first
            parts.append((Pattern(rows, self.items[first:last], self.n_items), (start, stop), (first, last)))
        return parts

    def user_sums(self, values: Floats) -> Floats:
        """Sum of a value per pair over each user's pairs."""
        return kernels.row_sums(self.indptr, values)

    def user_squares(self, weights: Floats | None = None, values: Floats | Shorts | None = None) -> Floats:
        """Sum over each user's pairs of ``(weights[item] * value) ** 2``; what is left out counts as 1."""
        return kernels.row_squares(self.indptr, self.items, weights, values)
