"""A sparse matrix on the device, by user and by item, and exact integer sums over users for every item.

Order never matters: int64, or float64 below 2^53.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch

from discreet.types import Indices

__all__ = ["Csr", "item_moments", "item_sums", "item_weights", "user_moment"]

GATHERED = 2**28
"""Bytes of features that are gathered at once."""


@dataclass(frozen=True)
class Csr:
    """Entries of each user, as compressed sparse rows on a device.

    Parameters
    ----------
    indptr, items
        int64 and int32.
    n_items
        Number of columns.
    """

    indptr: torch.Tensor
    items: torch.Tensor
    n_items: int

    @classmethod
    def upload(cls, indptr: Indices, items: Indices, n_items: int, device: torch.device) -> Csr:
        """From arrays of the host; the caller has checked them (`discreet.privacy.gaussian.blocks.Pattern`)."""
        return cls(
            torch.as_tensor(indptr, dtype=torch.int64).to(device),
            torch.as_tensor(items, dtype=torch.int32).to(device),
            n_items,
        )

    @property
    def n_users(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @cached_property
    def counts(self) -> torch.Tensor:
        """Entries of each user, int64."""
        return self.indptr[1:] - self.indptr[:-1]

    @cached_property
    def owners(self) -> torch.Tensor:
        """The user of each entry, int32."""
        users = torch.arange(self.n_users, device=self.items.device, dtype=torch.int32)
        return torch.repeat_interleave(users, self.counts)

    @cached_property
    def order(self) -> torch.Tensor:
        """Users, those with most entries first: the longest programs must not start last. Changes no number."""
        return torch.argsort(self.counts, descending=True).to(torch.int32)

    @cached_property
    def by_item(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Where each item's entries start when they are sorted by item, and the user of each entry then."""
        starts = torch.zeros(self.n_items + 1, dtype=torch.int64, device=self.items.device)
        torch.cumsum(torch.bincount(self.items, minlength=self.n_items), 0, out=starts[1:])
        return starts, self.owners[torch.argsort(self.items, stable=True)]


def item_sums(csr: Csr, features: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Sum of target times feature over the entries of each item: int16 in, int64 out, items x order."""
    order = features.shape[1]
    total = torch.zeros((csr.n_items, order), dtype=torch.int64, device=features.device)
    for some in _pieces(len(csr.items), 8 * order):
        products = features[csr.owners[some]].to(torch.int64) * targets[some, None]
        total.index_add_(0, csr.items[some], products)
    return total


def item_weights(csr: Csr, weights: torch.Tensor) -> torch.Tensor:
    """Sum of the int32 weights of each item's users, int64."""
    total = torch.zeros(csr.n_items, dtype=torch.int64, device=weights.device)
    return total.index_add_(0, csr.items, weights[csr.owners].to(torch.int64))


def user_moment(features: torch.Tensor) -> torch.Tensor:
    """Sum of f f^T over all rows of an int16 matrix, float64.

    A product of all rows by a library is exact here: whole numbers whose sums stay below 2^53, which the caller sees
    to.
    """
    rows = features.to(torch.float64)
    return rows.T @ rows


def item_moments(csr: Csr, features: torch.Tensor) -> torch.Tensor:
    """Sum of f f^T over the users of each item, float64, items x order x order; exact below 2^53.

    Items with about as many users are worked on together, the shorter ones filled up with zeros.
    """
    order, device = features.shape[1], features.device
    total = torch.zeros((csr.n_items, order, order), dtype=torch.float64, device=device)
    starts, sorted_users = csr.by_item
    lengths = starts[1:] - starts[:-1]
    nobody = len(features)
    known = torch.cat([features, torch.zeros((1, order), dtype=features.dtype, device=device)])
    for power in range(int(lengths.max()).bit_length() + 1 if len(lengths) else 0):
        longest = 2**power
        chosen = torch.nonzero((lengths <= longest) & (lengths > longest // 2))[:, 0]
        for some in _pieces(len(chosen), 8 * longest * order):
            group = chosen[some]
            place = starts[group][:, None] + torch.arange(longest, device=device)
            inside = place < starts[group + 1][:, None]
            users = sorted_users[torch.where(inside, place, 0)]
            rows = known[torch.where(inside, users, nobody)].to(torch.float64)
            total[group] = rows.transpose(1, 2) @ rows
    return total


def _pieces(count: int, bytes_each: int) -> Iterator[slice]:
    step = max(GATHERED // max(bytes_each, 1), 1)
    return (slice(start, start + step) for start in range(0, count, step))
