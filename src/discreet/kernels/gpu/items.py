"""Exact integer sums over users for every item. Order never matters: int64, or float64 below 2^53."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from discreet.kernels.gpu.csr import ByItem

__all__ = ["item_moments", "item_sums", "item_weights", "user_moment"]

ENTRIES = 16
"""Entries of an item that are added at once."""
COLUMNS = 64
"""Most columns of the features that one program adds up."""
GATHERED = 2**28
"""Bytes of features that are gathered at once for `item_moments`."""


def item_sums(by_item: ByItem, features: torch.Tensor, targets: torch.Tensor, n_items: int) -> torch.Tensor:
    """Sum of target times feature over the entries of each item: int16 in, int64 out, items x order."""
    order = features.shape[1]
    columns = min(triton.next_power_of_2(order), COLUMNS)
    segments = len(by_item.segment_items)
    parts = torch.empty((segments, order), dtype=torch.int64, device=features.device)
    if segments:
        _sums[(segments, -(-order // columns))](
            by_item.users,
            by_item.positions,
            by_item.segment_starts,
            features,
            targets,
            parts,
            order,
            ENTRIES=ENTRIES,
            COLUMNS=columns,
            num_warps=4 if columns > 32 else 2,
        )
    total = torch.zeros((n_items, order), dtype=torch.int64, device=features.device)
    return total.index_add_(0, by_item.segment_items, parts)


def item_weights(by_item: ByItem, weights: torch.Tensor, n_items: int) -> torch.Tensor:
    """Sum of the int32 weights of each item's users, int64."""
    segments = len(by_item.segment_items)
    parts = torch.empty(segments, dtype=torch.int64, device=weights.device)
    if segments:
        _weights[(segments,)](by_item.users, by_item.segment_starts, weights, parts, ENTRIES=256, num_warps=4)
    total = torch.zeros(n_items, dtype=torch.int64, device=weights.device)
    return total.index_add_(0, by_item.segment_items, parts)


def user_moment(features: torch.Tensor) -> torch.Tensor:
    """Sum of f f^T over all rows of an int16 matrix, float64.

    A product of all rows by a library is exact here: whole numbers whose sums stay below 2^53, which the caller sees
    to.
    """
    rows = features.to(torch.float64)
    return rows.T @ rows


def item_moments(by_item: ByItem, features: torch.Tensor, n_items: int) -> torch.Tensor:
    """Sum of f f^T over the users of each item, float64, items x order x order; exact below 2^53."""
    order, device = features.shape[1], features.device
    total = torch.zeros((n_items, order, order), dtype=torch.float64, device=device)
    starts = by_item.segment_starts
    lengths = starts[1:] - starts[:-1]
    nobody = len(features)
    known = torch.cat([features, torch.zeros((1, order), dtype=features.dtype, device=device)])
    for longest in (2**power for power in range(11)):
        chosen = torch.nonzero((lengths <= longest) & (lengths > longest // 2))[:, 0]
        step = max(GATHERED // (8 * longest * order), 1)
        for group in torch.split(chosen, step):
            place = starts[group][:, None] + torch.arange(longest, device=device)
            inside = place < (starts[group] + lengths[group])[:, None]
            users = by_item.users[torch.where(inside, place, 0)]
            rows = known[torch.where(inside, users, nobody)].to(torch.float64)
            total.index_add_(0, by_item.segment_items[group], rows.transpose(1, 2) @ rows)
    return total


@triton.jit
def _sums(
    users,
    positions,
    starts,
    features,
    targets,
    parts,
    order,
    ENTRIES: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    segment = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    start = tl.load(starts + segment)
    stop = tl.load(starts + segment + 1)
    total = tl.zeros((ENTRIES, COLUMNS), tl.int64)
    for entry in range(start, stop, ENTRIES):
        at = entry + tl.arange(0, ENTRIES)
        inside = at < stop
        user = tl.load(users + at, mask=inside, other=0).to(tl.int64)
        position = tl.load(positions + at, mask=inside, other=0)
        target = tl.load(targets + position, mask=inside, other=0).to(tl.int32)
        mask = inside[:, None] & (columns < order)[None, :]
        feature = tl.load(features + user[:, None] * order + columns[None, :], mask=mask, other=0)
        # Two int16: their product fits into int32.
        total += (feature.to(tl.int32) * target[:, None]).to(tl.int64)
    tl.store(parts + segment * order + columns, tl.sum(total, 0), mask=columns < order)


@triton.jit
def _weights(users, starts, weights, parts, ENTRIES: tl.constexpr):
    segment = tl.program_id(0).to(tl.int64)
    start = tl.load(starts + segment)
    stop = tl.load(starts + segment + 1)
    total = tl.zeros((ENTRIES,), tl.int64)
    for entry in range(start, stop, ENTRIES):
        at = entry + tl.arange(0, ENTRIES)
        user = tl.load(users + at, mask=at < stop, other=0).to(tl.int64)
        total += tl.load(weights + user, mask=at < stop, other=0).to(tl.int64)
    tl.store(parts + segment, tl.sum(total, 0))
