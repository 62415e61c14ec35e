"""Algorithm 2: one bit about a random projection of the gradient."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from discreet.errors import SettingsInvalid
from discreet.privacy.local.randomised_response import amplification, respond
from discreet.types import Floats
from reproduction.local.channel import Round

__all__ = ["Projected", "Projection"]


class Projection:
    """A public random matrix of q rows and one column for each item, and its pseudo-inverse.

    Parameters
    ----------
    dimensions, items
        q, and the number of items; q is at most the number of items.
    public
        Randomness anyone may know.
    kind
        ``"gaussian"``, as in algorithm 2, or ``"signs"``; mean 0 and variance 1/q both.
    """

    def __init__(
        self,
        dimensions: int,
        items: int,
        public: np.random.Generator,
        kind: Literal["gaussian", "signs"] = "gaussian",
    ) -> None:
        if not 1 <= dimensions <= items:
            raise SettingsInvalid(f"q must be between 1 and the number of items, {items}, not {dimensions}")
        if kind == "gaussian":
            self.matrix = public.standard_normal((dimensions, items), dtype=np.float32)
        else:
            self.matrix = public.choice(np.array([-1.0, 1.0], dtype=np.float32), (dimensions, items))
        self.matrix *= np.float32(dimensions**-0.5)
        gram = (self.matrix @ self.matrix.T).astype(np.float64)
        gram[np.diag_indices(dimensions)] += 1e-6 * items / dimensions
        self._factor = cho_factor(gram, overwrite_a=True)

    @property
    def dimensions(self) -> int:
        """q."""
        return int(self.matrix.shape[0])

    def recover(self, reduced: Floats) -> Floats:
        """Items x rank from q x rank, by the pseudo-inverse: on average q / items times what was projected."""
        solved = np.asarray(cho_solve(self._factor, reduced))
        return np.asarray((self.matrix.T @ solved.astype(np.float32)).astype(np.float64))


@dataclass(frozen=True)
class Projected:
    """Algorithm 2: each device answers one bit about one of q x rank coordinates of its projected gradient.

    Notes
    -----
    **Privacy.** As algorithm 1: the matrix is public, the coordinate comes from public randomness, the projected value
    is clipped to [-1, 1] before the coin. One answer is epsilon-LDP: ``proofs/descent.md``.
    """

    projection: Projection = field(repr=False)
    name: str = "private GD-DR"
    protects: Literal["user", "rating", "nothing"] = "user"

    def gradient(self, asked: Round) -> Floats:
        """The mean of the answers in q dimensions, brought back to all items."""
        return self.projection.recover(self.reduced(asked))

    def reduced(self, asked: Round) -> Floats:
        """What the server sends to everybody: q x rank."""
        n, d, q = asked.crowd.size, asked.items.shape[1], self.projection.dimensions
        row = asked.public.integers(0, q, n)
        factor = asked.public.integers(0, d, n)
        bits = respond(self.values(asked, row, factor), asked.epsilon, asked.coin)
        sums = np.bincount(row * d + factor, weights=bits, minlength=q * d).reshape(q, d)
        return np.asarray(sums * (q * d * amplification(asked.epsilon) / max(n, 1)))

    def values(self, asked: Round, row: npt.NDArray[np.integer], factor: npt.NDArray[np.integer]) -> Floats:
        """Each device's own projected gradient at the coordinate it is asked for."""
        crowd, n_items = asked.crowd, asked.crowd.n_items
        wrong = crowd.residuals(asked.profiles, asked.items)
        place = np.repeat(row * n_items, crowd.counts)
        place += crowd.items
        wrong *= self.projection.matrix.ravel()[place]
        return np.asarray(-2.0 * asked.profiles[np.arange(crowd.size), factor] * crowd.total(wrong))
