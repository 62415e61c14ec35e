"""Rotated bits beside the paper's coordinate sampling: the same devices, epsilon and number of bits, in one run.

Shin et al., algorithm 1: a device picks one coordinate of its vector uniformly, clips it to [-1, 1], answers with one
bit by the binary mechanism, and the server multiplies by the number of coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.devices.device.question import DEVICE_ID_BYTES, Question
from discreet.devices.estimator import Estimator
from discreet.privacy.local import randomised_response as binary
from discreet.privacy.local.coin import Coin
from discreet.privacy.local.rotated import Rows, answers
from discreet.types import Floats

__all__ = ["Errors", "compare_popularity"]


class Errors(NamedTuple):
    """Mean squared errors per coordinate.

    Attributes
    ----------
    rotated
        Of the rotated mechanism, on vectors of length 1 (1 / sqrt(k) on k own items); noise and bias together.
    sampled
        Of coordinate sampling on the same vectors.
    sampled_raw
        Of coordinate sampling on the raw vectors (1 on each own item), the largest it can be fed.
    signal, raw_signal
        Mean square of what is estimated, on vectors of length 1 and raw.
    """

    rotated: float
    sampled: float
    sampled_raw: float
    signal: float
    raw_signal: float

    @property
    def ratio(self) -> float:
        """How many times smaller the rotated error is, same vectors."""
        return self.sampled / self.rotated

    @property
    def raw_ratio(self) -> float:
        """The same relative to each one's signal, coordinate sampling on raw vectors: its best case."""
        return (self.sampled_raw / self.raw_signal) / (self.rotated / self.signal)


def compare_popularity(
    rows: Rows, items: int, epsilon: float, rng: np.random.Generator, coin: Coin | None = None
) -> Errors:
    """Ask every device for its popularity vector by both mechanisms, once, and measure both errors."""
    indptr, own, _ = rows
    coin = Coin() if coin is None else coin
    counts = np.diff(indptr)
    users = len(counts)
    weight = np.repeat(1.0 / np.sqrt(np.maximum(counts, 1)), counts)
    unit = np.bincount(own, weight, minlength=items) / users
    raw = np.bincount(own, minlength=items) / users
    question = Question("comparison", 1, "popularity", epsilon, rng.bytes(32).hex(), 16, items, 0, (0.0, 1.0))
    ids = np.frombuffer(rng.bytes(DEVICE_ID_BYTES * users), np.uint8).reshape(users, DEVICE_ID_BYTES)
    estimator = Estimator(question)
    estimator.add(ids, answers(question, rows, ids, None, coin))
    chosen = rng.integers(0, items, users)
    hit = _holds(rows, chosen)
    sampled = _sampled(np.where(hit, 1.0 / np.sqrt(np.maximum(counts, 1)), 0.0), chosen, items, epsilon, coin)
    sampled_raw = _sampled(hit.astype(np.float64), chosen, items, epsilon, coin)
    return Errors(
        _mean_square(estimator.estimate() - unit),
        _mean_square(sampled - unit),
        _mean_square(sampled_raw - raw),
        _mean_square(unit),
        _mean_square(raw),
    )


def _sampled(values: Floats, chosen: npt.NDArray[np.int64], items: int, epsilon: float, coin: Coin) -> Floats:
    bits = binary.respond(values, epsilon, coin)
    total = np.bincount(chosen, bits, minlength=items)
    return np.asarray(total * (items * binary.amplification(epsilon) / len(values)))


def _holds(rows: Rows, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether each device has the item chosen for it."""
    indptr, own, _ = rows
    found = np.zeros(len(chosen), dtype=np.bool_)
    owner = np.repeat(np.arange(len(chosen)), np.diff(indptr))
    found[owner[own == chosen[owner]]] = True
    return found


def _mean_square(values: Floats) -> float:
    return float(np.mean(values**2))
