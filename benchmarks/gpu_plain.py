"""The same half step written plainly in torch: what a GPU programmer would try first. Part of `benchmarks.gpu`.

Float sums, no bound on anybody, no integers: not private, and a user's last bits depend on the batch. It is here for
its time alone.
"""

from __future__ import annotations

import torch

from discreet.kernels.gpu import Csr

GATHERED = 2**31
"""Bytes of factors that are gathered at once."""


def plain_round(csr: Csr, targets: torch.Tensor, factors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Every user's vector by library calls on batches of users of like length, and each item's gradient."""
    order = factors.shape[1] + 1
    device = factors.device
    design = torch.cat([torch.ones(len(factors), 1, device=device), factors], 1)
    design = torch.cat([design, torch.zeros(1, order, device=device)])
    vectors = torch.zeros(csr.n_users, order, device=device)
    gradient = torch.zeros(csr.n_items + 1, order, device=device)
    ridge = 5.0 * torch.eye(order, device=device)
    counts, longest = csr.counts, 1
    while longest < 2 * int(counts.max()):
        chosen = torch.nonzero((counts <= longest) & (counts > longest // 2))[:, 0]
        for users in torch.split(chosen, max(GATHERED // (4 * longest * order), 1)):
            place = csr.indptr[users][:, None] + torch.arange(longest, device=device)
            inside = place < csr.indptr[users + 1][:, None]
            place = torch.where(inside, place, 0)
            items = torch.where(inside, csr.items[place], csr.n_items)
            known = torch.where(inside, targets[place], 0.0)
            rows = design[items]
            normal = rows.transpose(1, 2) @ rows + ridge
            pull = (rows.transpose(1, 2) @ known[:, :, None])[:, :, 0]
            factor, _ = torch.linalg.cholesky_ex(normal)
            found = torch.cholesky_solve(pull[:, :, None], factor)[:, :, 0]
            vectors[users] = found
            left = known - (rows @ found[:, :, None])[:, :, 0]
            told = left[:, :, None] * found[:, None, :]
            gradient.index_add_(0, items.reshape(-1), told.reshape(-1, order))
        longest *= 2
    return vectors, gradient[:-1]
