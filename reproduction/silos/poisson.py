"""Counts spread over organisations: the synthetic world of the federated prototypes paper (section 5.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.data.rows import check_range
from discreet.data.splits import Rng
from discreet.errors import SettingsInvalid

__all__ = ["poisson_silos"]

_BLOCK = 4_096


def poisson_silos(
    n_users: int,
    n_items: int = 500,
    silos: int = 10,
    rank: int = 100,
    rng: Rng = None,
    log_rate_spread: float = 1.0,
    rating_range: tuple[float, float] = (0.0, 50.0),
) -> tuple[Ratings, npt.NDArray[np.int64]]:
    """Poisson counts with a low-rank log-rate, every entry observed, users dealt evenly over silos.

    Parameters
    ----------
    n_users, n_items, silos, rank
        Size; the paper has 100,000 users, 500 items, 10 silos and rank 100.
    log_rate_spread
        Standard deviation of the log-rates. The paper takes ``exp(U V^T)`` with standard normal factors of
        rank 100, whose log-rates have a standard deviation of 10: rates beyond 1e17, which no count can be
        drawn from or learned. (Its appendix B.1 leaves the exponential out, which gives negative rates.) The
        factors here are the same, scaled so that the spread is this.
    rating_range
        Public bound; larger counts are clipped to it.

    Returns
    -------
    ratings, silo
        The counts, and the silo (from 0) of each user: ``ratings.take_users(silo == 3)`` is what silo 3
        holds.
    """
    if not (n_users >= silos >= 1 and n_items >= 1 and rank >= 1):
        raise SettingsInvalid(
            f"{n_users} users cannot be dealt over {silos} silos, {n_items} items, rank {rank}"
        )
    low_high = check_range(rating_range, rated=True)
    generator = np.random.default_rng(rng)
    scale = log_rate_spread / np.sqrt(rank)
    traits = generator.standard_normal((n_items, rank)) * scale
    values = np.empty((n_users, n_items))
    for start in range(0, n_users, _BLOCK):
        tastes = generator.standard_normal((min(_BLOCK, n_users - start), rank))
        values[start : start + _BLOCK] = generator.poisson(np.exp(tastes @ traits.T))
    silo = generator.permutation(np.arange(n_users) % silos)
    ratings = Ratings(
        np.arange(n_users + 1) * n_items,
        np.tile(np.arange(n_items, dtype=np.int32), n_users),
        np.clip(values, *rating_range, out=values).ravel(),
        np.arange(1, n_users + 1),
        Catalogue(np.arange(1, n_items + 1)),
        low_high,
    )
    return ratings, silo
