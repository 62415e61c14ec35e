"""Item vectors for nearest-neighbour search: an approximate index (usearch) whose order is that of the model's lists.

What orders a list is ``coefficients . row_j + level_j`` (:func:`discreet.model.listing.order_terms`). As one inner
product: the item's vector is ``(row_j, level_j, rest_j)``, the person's is ``(coefficients, 1, 0)``, and ``rest_j``
makes all items' vectors equally long, because graphs of neighbours find the nearest, and the largest inner product is
the nearest among vectors of one length. Both sides are then divided by their lengths, so that few bits hold them.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.errors import SettingsInvalid
from discreet.model.listing import order_terms
from discreet.model.model import Model
from discreet.types import Floats

__all__ = ["STORED", "IndexedItems", "Stored", "item_vectors", "query_vectors"]

Stored = Literal["float32", "float16", "int8"]
"""In what precision an index keeps the vectors."""
STORED: dict[Stored, str] = {"float32": "f32", "float16": "f16", "int8": "i8"}


def item_vectors(model: Model) -> npt.NDArray[np.float32]:
    """Items x (rank + 3): the order of inner products with a query is the order of the model's lists."""
    rows, level = order_terms(model.item_side, model.by_popularity)
    vectors = np.column_stack([rows, level])
    square = np.einsum("ij,ij->i", vectors, vectors)
    return _unit(np.column_stack([vectors, np.sqrt(square.max() - square)]))


def query_vectors(coefficients: Floats) -> npt.NDArray[np.float32]:
    """People x (rank + 3), from the coefficients that `ItemSide.fold_in` gives."""
    people = len(coefficients)
    return _unit(np.column_stack([coefficients, np.ones(people), np.zeros(people)]))


def _unit(vectors: Floats) -> npt.NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


@dataclass(frozen=True)
class IndexedItems:
    """An index of a model's items; its keys are places in the catalogue.

    Notes
    -----
    **Privacy.** Post-processing of a released model: it costs nothing, and says nothing that the model does not.
    """

    model: Model
    index: Any

    @classmethod
    def build(
        cls, model: Model, stored: Stored = "float32", connectivity: int = 32, expansion: int = 256
    ) -> IndexedItems:
        """Build it.

        Parameters
        ----------
        stored
            Precision of the vectors in the index.
        connectivity, expansion
            Neighbours of an item in the graph, and how many candidates a search looks at: more find more, and take
            longer.

        Raises
        ------
        SettingsInvalid
            Without the extra ``index``.
        """
        try:
            usearch = importlib.import_module("usearch.index")
        except ImportError:
            raise SettingsInvalid(
                "an index needs usearch; install it with: pip install 'discreet[index]'"
            ) from None
        vectors = item_vectors(model)
        index = usearch.Index(
            ndim=vectors.shape[1],
            metric="ip",
            dtype=STORED[stored],
            connectivity=connectivity,
            expansion_add=expansion,
            expansion_search=expansion,
        )
        index.add(np.arange(len(vectors), dtype=np.uint64), vectors)
        return cls(model, index)

    def search(self, coefficients: Floats, n: int) -> npt.NDArray[np.int64]:
        """Places of about the ``n`` best items of each person, best first; -1 where fewer were found."""
        found = self.index.search(query_vectors(coefficients), n)
        places = np.full((len(coefficients), n), -1, dtype=np.int64)
        keys = np.asarray(found.keys).reshape(len(coefficients), -1).astype(np.int64)
        places[:, : keys.shape[1]] = keys
        counts = np.asarray(getattr(found, "counts", np.full(len(places), keys.shape[1])))
        places[np.arange(n) >= counts.reshape(-1, 1)] = -1
        return places

    def recall(self, coefficients: Floats, n: int) -> float:
        """Share of the ``n`` truly best items of these people that the index finds."""
        rows, level = order_terms(self.model.item_side, self.model.by_popularity)
        best, _ = kernels.top_n(coefficients, rows, level, min(n, len(rows)))
        found = self.search(coefficients, best.shape[1])
        hits = [len(np.intersect1d(*pair)) for pair in zip(best, found, strict=True)]
        return float(np.sum(hits) / best.size)

    def save(self, path: Path) -> None:
        """To a file, which `usearch.index.Index.restore` reads."""
        self.index.save(str(path))
