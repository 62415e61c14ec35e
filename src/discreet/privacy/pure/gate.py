"""The gate of runs without delta: exact integer sums and choices, geometric noise, one charge each.

Proof note: ``proofs/pure.md``. Every method is epsilon-DP for adding or removing one user. Sums and counts hold that
themselves: they check each user's contribution and leave out users who exceed the bound. Losses and cells are taken
as they come; the caller must keep to the bounds that each method states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.privacy.gaussian.noise import why_not_private
from discreet.privacy.pure.ledger import PureLedger
from discreet.privacy.pure.noise import PureNoise, binomial_above, check_silent, rate_at_most
from discreet.types import Ints

__all__ = ["Contributions", "PureGate"]

Keys = npt.NDArray[np.uint8]

_EXACT = 2**53


@dataclass(frozen=True)
class Contributions:
    """Private: which user adds which integer to which cell, one entry for each pair; the cells are public."""

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


class PureGate:
    """Charges, computes exactly, adds noise, lets out.

    Parameters
    ----------
    ledger
        Pays for every release.
    noise
        Where the noise comes from; a fresh unpredictable source by default. With any other than the package's own the
        ledger is void: the statement says that the run is not private, and why.
    """

    def __init__(self, ledger: PureLedger, noise: PureNoise | None = None) -> None:
        self.ledger = ledger
        self._noise = PureNoise() if noise is None else noise

    def sums(self, name: str, given: Contributions, *, bound: int, epsilon: float) -> Ints:
        """The sum of every cell, with two-sided geometric noise.

        **Privacy**: a user's amounts are at most `bound` together, over all cells.
        """
        _check_bound(bound)
        rate = rate_at_most(epsilon / bound)

        def noisy(exact: Ints) -> Ints:
            return exact + self._noise.two_sided(rate, exact.size).reshape(exact.shape)

        released: Ints = self._release(name, epsilon, bound, lambda: given.bounded(bound).total(), noisy)
        return released

    def top(
        self, name: str, given: Contributions, *, groups: int, most: int, user_cells: int, epsilon: float
    ) -> Ints:
        """For each group of cells, the `most` cells with the highest noisy counts (groups x most, rising).

        Cells are numbered group by group. A user counts 1 in at most `user_cells` cells of ONE group.

        **Privacy**: one-shot selection with one-sided noise pays for `most` selections, noisy counts of all cells
        for `user_cells` of them; the cheaper is taken, which settings decide and not the data.
        """
        one_shot = most <= user_cells
        rate = rate_at_most(epsilon / min(most, user_cells))

        def exact() -> Ints:
            kept = given.at_most_once().bounded(user_cells)
            if not kept.one_group(groups):
                raise RatingsInvalid(f"{name}: a user takes part in more than one group")
            return kept.total().reshape(groups, -1)

        def chosen(counts: Ints) -> Ints:
            draw = self._noise.geometric if one_shot else self._noise.two_sided
            noisy = counts + draw(rate, counts.size).reshape(counts.shape)
            return np.sort(np.argsort(-noisy, axis=1, kind="stable")[:, :most], axis=1)

        released: Ints = self._release(name, epsilon, 1, exact, chosen)
        return released

    def lowest(self, name: str, losses: Callable[[], Ints], *, bound: int, epsilon: float) -> int:
        """The number of the lowest loss, by noisy minimum with one-sided noise (permute-and-flip).

        **Privacy**: every loss must be a sum over users of integers between 0 and `bound`, so that a further user
        raises all of them, each by at most that.
        """
        rate = rate_at_most(epsilon / bound)

        def chosen(exact: Ints) -> Ints:
            noisy = exact - self._noise.geometric(rate, exact.size)
            return np.array([np.argmin(noisy)], dtype=np.int64)

        return int(self._release(name, epsilon, bound, losses, chosen)[0])

    def crowded(
        self,
        name: str,
        keys: Keys,
        *,
        universe: int,
        draw: Callable[[PureNoise], Keys],
        threshold: int,
        epsilon: float,
    ) -> Keys:
        """Which of a universe of cells hold at least `threshold` users, with two-sided geometric noise.

        Notes
        -----
        **Privacy**: a user is in at most one cell. Cells without users get noise as well: not one by one, but by
        drawing how many of them would have passed, and which.
        """
        rate = rate_at_most(epsilon)
        check_silent(universe, rate, threshold)

        def passing(found: tuple[Keys, Ints]) -> Keys:
            occupied, counts = found
            noisy = counts + self._noise.two_sided(rate, len(counts))
            known = {row.tobytes() for row in occupied}
            silent = binomial_above(universe - len(known), rate, threshold, self._noise.bits)
            extra: dict[bytes, Keys] = {}
            while len(extra) < silent:
                cell = draw(self._noise)
                if cell.tobytes() not in known:
                    extra.setdefault(cell.tobytes(), cell)
            passed = np.concatenate([occupied[noisy >= threshold], *(cell[None] for cell in extra.values())])
            return np.unique(passed, axis=0) if len(passed) else passed

        released: Keys = self._release(
            name, epsilon, 1, lambda: np.unique(keys, axis=0, return_counts=True), passing
        )
        return released

    def _release(
        self, name: str, epsilon: float, bound: int, exact: Callable[[], Any], noisy: Callable[[Any], Any]
    ) -> Any:
        """Charge, compute what is private, and let out what was made of it."""
        self.ledger.void(why_not_private(self._noise, PureNoise))
        charge = self.ledger.charge(name, epsilon=epsilon, detail={"bound": bound})
        released = noisy(exact())
        self.ledger.redeem(charge)
        return released


def _check_bound(bound: int) -> None:
    """A public bound that single users' amounts can be held to exactly; their sum is one of 64-bit integers."""
    if not 1 <= bound < _EXACT:
        raise SettingsInvalid(f"a bound of {bound} for each user must lie between 1 and 2^53")
