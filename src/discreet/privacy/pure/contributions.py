"""What users bring to a release without delta: integer amounts in public cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import RatingsInvalid
from discreet.types import Ints

__all__ = ["Contributions"]


@dataclass(frozen=True)
class Contributions:
    """Private: which user adds how much to which cell, one entry for each pair of user and cell.

    Attributes
    ----------
    users, cells, values
        One number for each entry: row of the user, cell, and integer amount.
    n_users, n_cells
        Size; cells and their number are public.
    """

    users: Ints
    cells: Ints
    values: Ints
    n_users: int
    n_cells: int

    def __post_init__(self) -> None:
        inside = (self.cells >= 0) & (self.cells < self.n_cells)
        if not (len(self.users) == len(self.cells) == len(self.values) and inside.all()):
            raise RatingsInvalid("contributions must name a user, a known cell and an amount each")

    def bounded(self, bound: int) -> Contributions:
        """Without the users whose amounts are larger than `bound` together."""
        # In float64, where sums are exact up to 2^53 and never wrap round: beyond any bound they stay beyond it.
        sizes = np.zeros(self.n_users)
        np.add.at(sizes, self.users, np.abs(self.values.astype(np.float64)))
        return self._of(sizes <= bound)

    def at_most_once(self) -> Contributions:
        """Without the users who name a cell twice or add anything but 1."""
        if (self.values == 1).all() and (np.diff(self.users * self.n_cells + self.cells) > 0).all():
            return self
        order = np.lexsort((self.cells, self.users))
        users, cells = self.users[order], self.cells[order]
        fine = np.ones(self.n_users, dtype=np.bool_)
        fine[users[1:][(np.diff(users) == 0) & (np.diff(cells) == 0)]] = False
        fine[self.users[self.values != 1]] = False
        return self._of(fine)

    def total(self) -> Ints:
        """Exact sum of each cell."""
        totals = np.zeros(self.n_cells, dtype=np.int64)
        np.add.at(totals, self.cells, self.values)
        return totals

    def one_group(self, groups: int) -> bool:
        """Whether every user's cells lie in one group, cells being numbered group by group."""
        group = self.cells // max(self.n_cells // groups, 1)
        least = np.full(self.n_users, groups, dtype=np.int64)
        most = np.full(self.n_users, -1, dtype=np.int64)
        np.minimum.at(least, self.users, group)
        np.maximum.at(most, self.users, group)
        return bool((most <= least).all())

    def _of(self, fine: npt.NDArray[np.bool_]) -> Contributions:
        if fine.all():
            return self
        kept = fine[self.users]
        parts = self.users[kept], self.cells[kept], self.values[kept]
        return Contributions(*parts, self.n_users, self.n_cells)
