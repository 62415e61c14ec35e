"""A sparse matrix on the device, by user and by item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from discreet.types import Indices

__all__ = ["SEGMENT", "ByItem", "Csr"]

SEGMENT = 1024
"""Entries of one item that a program adds up: an item with many more is worked on by many programs."""
_MOST = 2**31 - 1


@dataclass(frozen=True)
class ByItem:
    """The same entries item by item, cut into segments of one item each.

    Parameters
    ----------
    users, positions
        int32: of each entry, its user and its place in the user-major order.
    segment_items, segment_starts
        The item of each segment, and where it starts (one more start at the end).
    """

    users: torch.Tensor
    positions: torch.Tensor
    segment_items: torch.Tensor
    segment_starts: torch.Tensor


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
        """From arrays of the host; the caller has checked them (`discreet.privacy.gaussian.pattern.Pattern`)."""
        if len(items) > _MOST:
            raise ValueError(f"a block of {len(items)} entries is too large for one device; cut it")
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
    def order(self) -> torch.Tensor:
        """Users, those with most entries first: the longest programs must not start last. Changes no number."""
        return torch.argsort(self.counts, descending=True).to(torch.int32)

    @cached_property
    def by_item(self) -> ByItem:
        """The transposed matrix."""
        device = self.items.device
        # Stable: by item, and inside an item by position, so that neighbours in memory are read one after another.
        positions = torch.argsort(self.items, stable=True)
        rows = torch.repeat_interleave(
            torch.arange(self.n_users, device=device, dtype=torch.int32), self.counts
        )
        users = rows[positions]
        touched, lengths = torch.unique_consecutive(self.items[positions], return_counts=True)
        pieces = (lengths + SEGMENT - 1) // SEGMENT
        items = torch.repeat_interleave(touched, pieces)
        first = torch.repeat_interleave(torch.cumsum(pieces, 0) - pieces, pieces)
        number = torch.arange(len(items), device=device) - first
        starts = torch.repeat_interleave(torch.cumsum(lengths, 0) - lengths, pieces) + number * SEGMENT
        end = torch.tensor([len(self.items)], device=device)
        return ByItem(users, positions.to(torch.int32), items.to(torch.int64), torch.cat([starts, end]))
