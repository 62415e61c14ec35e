"""The private half of budgeted ALS on a GPU. Needs the extra ``gpu``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from discreet.data.ratings import Ratings
from discreet.errors import SettingsInvalid
from discreet.kernels import gpu
from discreet.methods.budgeted.private.contributions import BudgetedContributions
from discreet.methods.budgeted.public import constants as fitted
from discreet.methods.budgeted.public.queries import RoundQuery
from discreet.methods.public.query import Query
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.gpu_blocks import DeviceStatistics, device_blocks
from discreet.types import Floats

__all__ = ["GpuBudgetedContributions"]


class GpuBudgetedContributions:
    """Integer contributions of some users, computed on a device that keeps their ratings.

    Rounds are answered there. Activity, counts and two moments, is the CPU's.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    device
        Where.
    """

    def __init__(self, ratings: Ratings, device: torch.device) -> None:
        self._ratings, self._device = ratings, device
        self._host = BudgetedContributions(ratings)  # refuses rows that cannot be bounded
        self._csr = gpu.Csr.upload(ratings.indptr, ratings.items, ratings.n_items, device)
        self._values = self._upload(ratings.values)
        # The same count gives the same number: some thousand counts instead of all users.
        self._counts, kinds = np.unique(np.diff(ratings.indptr), return_inverse=True)
        self._kinds = torch.as_tensor(kinds).to(device)

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query, in the order in which they are released."""
        if not isinstance(query, RoundQuery):
            return self._host.contributions(query)
        return device_blocks(query.mechanism, self._statistics(query))

    def _statistics(self, query: RoundQuery) -> DeviceStatistics:
        """What :func:`discreet.methods.budgeted.private.contributions.user_statistics` computes, on the device."""
        side, frame, csr = query.side, query.frame, self._csr
        if side.rank > gpu.MOST_RANK:
            raise SettingsInvalid(
                f"on a GPU the rank is at most {gpu.MOST_RANK}, not {side.rank}; use the CPU"
            )
        offsets = torch.index_select(self._upload(side.offsets), 0, csr.items)
        targets = self._values - side.centre - offsets
        factors = self._upload(side.factors)
        solved = self._coefficients(side, factors.to(torch.float32), offsets).to(torch.float64)
        own, vectors = solved[:, 0].contiguous(), solved[:, 1:].contiguous()
        explained: torch.Tensor | None = vectors
        if frame.start:
            explained, vectors = None, _standard_length(vectors)
        residuals = gpu.user_residuals(csr, targets, own, explained, factors)
        weights = torch.index_select(self._upload(query.item_weights), 0, csr.items)
        parts = residuals * residuals, (weights * residuals) * (weights * residuals), weights * weights
        sums = torch.stack([gpu.user_sums(csr, part) for part in parts], 1)
        counts = np.maximum(self._counts, 1.0)
        used = frame.degrees_of_freedom(counts, side.ridge.offset_penalty, side.ridge.factor_penalty)
        free = np.maximum(counts - used, fitted.LEAST_FREE * counts)
        spread = torch.sqrt(sums[:, 0] / self._for_everybody(free))
        takes = self._counts.astype(np.float64)
        features = gpu.transform_users(vectors, self._upload(frame.whiten))
        return DeviceStatistics(
            csr, features, residuals, sums, spread / frame.residual, self._for_everybody(takes)
        )

    def _coefficients(self, side: ItemSide, single: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """`ItemSide.fold_in` in float32, users x (1 + rank)."""
        rule, scales = side.ridge, None
        if rule.count_exponent:
            scales = self._for_everybody(np.maximum(self._counts, 1.0) ** rule.count_exponent).to(
                torch.float32
            )
        above = (self._values - side.centre - offsets).to(torch.float32)
        return gpu.solve_users(self._csr, above, single, rule.offset_penalty, rule.factor_penalty, scales)

    def _for_everybody(self, per_count: Floats) -> torch.Tensor:
        return self._upload(per_count)[self._kinds]

    def _upload(self, values: Floats) -> torch.Tensor:
        return torch.tensor(np.asarray(values, np.float64), device=self._device)


def _standard_length(vectors: torch.Tensor) -> torch.Tensor:
    length = torch.sqrt(gpu.square_norms(vectors))[:, None]
    goal = vectors * float(np.sqrt(vectors.shape[1]))
    return torch.where(length > 0, goal / torch.where(length > 0, length, 1.0), 0.0)
