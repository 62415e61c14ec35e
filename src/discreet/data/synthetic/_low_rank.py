"""The rank-5 world of the DPALS paper (section 6.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.catalogue import Catalogue
from discreet.data.arrays import arrange
from discreet.data.checks import check_range
from discreet.data.ratings import Ratings
from discreet.data.splits import Rng
from discreet.data.synthetic._sampling import draw_uniform
from discreet.errors import SettingsInvalid
from discreet.types import Floats

__all__ = ["low_rank"]


_OBSERVED = 20.0
_TEST_SHARE = 0.1


def low_rank(
    n_users: int,
    n_items: int = 1_000,
    rank: int = 5,
    rng: Rng = None,
    rating_range: tuple[float, float] = (-12.0, 12.0),
) -> tuple[Ratings, Ratings]:
    """The product of two random orthogonal matrices, seen without noise at random places.

    Each entry is observed independently with probability ``20 ln(n) / m``. The matrix is scaled so that the
    observations have standard deviation 1: predicting 0 everywhere has an error of 1.

    Parameters
    ----------
    n_users, n_items, rank
        Size of the matrix and its rank.
    rng
        Seed, generator or None.
    rating_range
        Public bound; values beyond it are clipped to it. The default is so wide that none is: in a world without noise
        the few users with a clipped value would make up nearly all of a good model's error.

    Returns
    -------
    train, test
        The observed entries, and about a tenth as many others to test on; the user rows are the same.
    """
    if not (n_users >= 2 and n_items >= 2 and 1 <= rank <= min(n_users, n_items)):
        raise SettingsInvalid(f"no matrix of {n_users} users and {n_items} items has rank {rank}")
    low_high = check_range(rating_range, rated=True)
    generator = np.random.default_rng(rng)
    left, right = _orthogonal(n_users, rank, generator), _orthogonal(n_items, rank, generator)
    chance = min(1.0, _OBSERVED * np.log(n_users) / n_items)
    seen = generator.binomial(n_items, chance, n_users)
    unseen = generator.binomial(n_items - seen, min(1.0, _TEST_SHARE * chance))
    ends = np.cumsum(seen + unseen)
    starts = ends - seen - unseen
    items = draw_uniform(generator, np.concatenate([[0], ends]), n_items)
    users = np.repeat(np.arange(n_users), seen + unseen)
    tested = np.arange(len(items)) - starts[users] >= seen[users]
    values = np.zeros(len(items))
    for factor in range(rank):  # one at a time, so that no ratings x rank array is needed
        values += left[users, factor] * right[items, factor]
    values = np.clip(values / values[~tested].std(), *rating_range)
    catalogue = Catalogue(np.arange(1, n_items + 1))

    def part(chosen: npt.NDArray[np.bool_]) -> Ratings:
        arrays, _ = arrange(users[chosen], items[chosen].astype(np.int64), values[chosen], n_users, n_items)
        return Ratings(*arrays, np.arange(1, n_users + 1), catalogue, low_high)

    return part(~tested), part(tested)


def _orthogonal(rows: int, columns: int, rng: np.random.Generator) -> Floats:
    basis: Floats = np.linalg.qr(rng.standard_normal((rows, columns)))[0]
    return basis
