"""A sparse matrix on the device, by user and by item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch

from discreet.types import Indices

__all__ = ["Csr"]


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
