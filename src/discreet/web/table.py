"""A table of weights as the page reads it: about two bytes a weight before compression.

    head       positions of the items that the table speaks of
    lengths    how many weights the row of each has
    steps      from one weight's item to the next one's, as places in the head less one; 255 means: and on
    weights    q |q| / largest^2 times the ``weight_scales`` of the weight's item, or floats as they are

Most weights of an item are small beside its largest: roots keep more of them than even steps do
(``benchmarks/page.py`` shows how few lists change).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from discreet.model.item_weights import ItemWeights
from discreet.types import Ints, Singles

__all__ = ["PRECISIONS", "Arrays", "Precision", "packed_table", "rounded_weights"]

Precision: TypeAlias = Literal["int8", "int16", "float32", "float64"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

_ON = 255


def packed_table(side: ItemWeights, precision: Precision) -> Arrays:
    """The arrays by name."""
    head = np.flatnonzero(side.known)
    lengths = np.diff(side.starts)[head]
    arrays: Arrays = {
        "head": head.astype(np.int32),
        "lengths": lengths.astype(np.int32),
        "steps": _steps(np.searchsorted(head, side.others), lengths),
    }
    if precision == "float64" or precision == "float32":
        return arrays | {"weights": side.weights}
    whole, scales = rounded_weights(side, np.int8 if precision == "int8" else np.int16)
    return arrays | {"weights": whole, "weight_scales": scales[head]}


def rounded_weights(side: ItemWeights, kind: type[np.signedinteger[Any]]) -> tuple[npt.NDArray[Any], Singles]:
    """Whole numbers, and the largest weight that speaks for each item of the catalogue."""
    largest = np.iinfo(kind).max
    scales = np.zeros(side.n_items, np.float32)
    np.maximum.at(scales, side.others, np.abs(side.weights))
    share = np.abs(side.weights) / np.where(scales > 0.0, scales, 1.0)[side.others]
    return (np.sign(side.weights) * np.rint(np.sqrt(share) * largest)).astype(kind), scales


def _steps(places: Ints, lengths: Ints) -> npt.NDArray[np.uint8]:
    """From each place to the next of its row, the first from before the row, in bytes of which 255 goes on."""
    before = np.concatenate([[-1], places[:-1]])
    starts = np.cumsum(lengths) - lengths
    before[starts[lengths > 0]] = -1
    steps = places - before - 1
    ends = np.cumsum(steps // _ON + 1)
    packed = np.full(ends[-1] if len(ends) else 0, _ON, np.uint8)
    packed[ends - 1] = steps % _ON
    return packed
