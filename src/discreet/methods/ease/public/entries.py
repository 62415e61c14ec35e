"""What each entry of a noisy matrix is expected to be, given itself and all entries like it. Public.

All entries have the same known Gaussian noise, and there are millions of them, so the law of what is behind the noise
follows from their histogram: nonparametric maximum likelihood (Kiefer and Wolfowitz 1956), by expectation maximisation
on a grid. Entries are alike where the shared directions say about as much of them; those of which they say most are
fewest, so the groups halve toward them, down to those that still fill a histogram.
"""

from __future__ import annotations

import numpy as np

from discreet.types import Floats, Indices, Singles

__all__ = ["expected_entries"]

# The histogram of entries, in deviations of the noise. What lies beyond is what it seems to be.
_FAR, _STEP = 12.0, 0.1
_PLACES = round(2 * _FAR / _STEP)
_MIDDLES = (np.arange(_PLACES) + 0.5) * _STEP - _FAR
# Sizes that may be behind the noise, in the same unit.
_SIZES = np.concatenate([-np.geomspace(0.02, 4.0, 20)[::-1], [0.0], np.geomspace(0.01, 13.0, 50)])
_LOG = -0.5 * (_MIDDLES[:, np.newaxis] - _SIZES) ** 2
_EM_STEPS = 1000
# Entries that a group of alike ones must have, and rows that are looked at together.
_LEAST, _ROWS = 20_000, 256


def expected_entries(rest: Singles, shared: Singles, sigma: float) -> Singles:
    """Expectations of the entries of a symmetric matrix beside its diagonal, which comes out as zero.

    Parameters
    ----------
    rest
        What is seen.
    shared
        What the entries are grouped by, by size.
    sigma
        Deviation of the noise.
    """
    edges = _edges(shared)
    counted = np.zeros((len(edges) + 1) * _PLACES)
    for rows in _blocks(len(rest)):
        group, place = _located(rest[rows], shared[rows], edges, sigma)
        inside = np.abs(place - 0.5 * (_PLACES - 1)) < 0.5 * _PLACES
        inside[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)] = False
        near = np.rint(np.clip(place, 0, _PLACES - 1)).astype(np.int64)
        counted += np.bincount((group * _PLACES + near)[inside], minlength=len(counted))
    laws = [_expectations(seen) for seen in counted.reshape(-1, _PLACES)]
    expected = (np.stack(laws) * sigma).astype(np.float32)
    out = np.empty_like(rest)
    for rows in _blocks(len(rest)):
        group, place = _located(rest[rows], shared[rows], edges, sigma)
        low = np.clip(place.astype(np.int64), 0, _PLACES - 2)
        part = np.clip(place - low, 0.0, 1.0).astype(np.float32)
        between = expected[group, low] * (1 - part) + expected[group, low + 1] * part
        out[rows] = np.where(np.abs(rest[rows]) < _FAR * sigma, between, rest[rows])
    np.fill_diagonal(out, 0.0)
    return out


def _edges(shared: Singles) -> Singles:
    """Sizes between groups: the largest half apart, of these the largest half apart, and so on."""
    order = len(shared)
    if not shared.any():
        return np.zeros(0, np.float32)
    sizes = np.sort(np.abs(shared[:: max(order // 600, 1)].ravel()))
    shares, share = [], 0.5
    while share * order * (order - 1) / 2 > _LEAST:
        shares.append(share)
        share /= 2
    places = [int((1.0 - part) * (len(sizes) - 1)) for part in shares]
    edges: Singles = np.unique(sizes[places]).astype(np.float32)
    return edges


def _located(rest: Singles, shared: Singles, edges: Singles, sigma: float) -> tuple[Indices, Singles]:
    """The group of each entry, and its place in the histogram."""
    place: Singles = (rest / np.float32(sigma) + np.float32(_FAR)) * np.float32(1.0 / _STEP) - np.float32(0.5)
    return np.searchsorted(edges, np.abs(shared)), place


def _expectations(counted: Floats) -> Floats:
    """What a number seen at each place is expected to be, in deviations of the noise."""
    if not counted.any():
        return np.zeros(_PLACES)
    likelihood = np.exp(_LOG) + 1e-290
    law = np.full(len(_SIZES), 0.2 / len(_SIZES))
    law[_SIZES == 0.0] += 0.8
    seen = counted / counted.sum()
    for _ in range(_EM_STEPS):
        law *= likelihood.T @ (seen / (likelihood @ law))
    joint = _LOG + np.log(law + 1e-300)
    weight = np.exp(joint - joint.max(axis=1, keepdims=True))
    found: Floats = weight @ _SIZES / weight.sum(axis=1)
    return found


def _blocks(order: int) -> list[slice]:
    return [slice(first, min(first + _ROWS, order)) for first in range(0, order, _ROWS)]
