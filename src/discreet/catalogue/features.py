"""Features of the items: public columns of the catalogue as one sparse matrix, in groups.

A matrix is learnt from catalogue columns alone, so it is as public as they are. Who has the same columns gets the same
matrix to the last bit, and can say so by its digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
import polars as pl
from pydantic import TypeAdapter, ValidationError
from scipy.sparse import csr_array, hstack

from discreet.catalogue.feature_columns import FeatureColumn, Kind, Values, read_kinds
from discreet.errors import CatalogueInvalid
from discreet.types import Ints

__all__ = ["FeatureEncoder", "ItemFeatures"]

_UNNAMED = "embedding"
_VERSION = 1


@dataclass(frozen=True)
class FeatureEncoder:
    """Turns columns of a catalogue into rows of features, for known and for new items alike.

    **Privacy.** It has seen public columns only, and is saved with a model as it stands.

    Examples
    --------
    >>> table = {"genres": ["Drama|War", "Drama", "War", "Comedy|War"], "year": [1999, 2003, None, 2010]}
    >>> encoder = FeatureEncoder.learn(table)
    >>> encoder.groups
    ('genres', 'year', 'year bins')
    >>> encoder.encode({"genres": ["War|Western"], "year": [2003]}).toarray().round(2)[:, :3]
    array([[ 0.  ,  1.  , -0.22]])
    """

    columns: tuple[FeatureColumn, ...]

    @classmethod
    def learn(cls, table: Any, kinds: Mapping[str, Kind | None] | None = None) -> Self:
        """Learn vocabularies, means and scales.

        Parameters
        ----------
        table
            Columns by name (a mapping, or a polars, pandas or Arrow table), all of them features; or one matrix of
            numbers, items in rows. A column that is itself such a matrix is an embedding.
        kinds
            Of columns whose kind is not to be guessed.

        Raises
        ------
        CatalogueInvalid
            When a column cannot be used. A value that is missing is none of the reasons.
        """
        columns = _columns(table)
        known = read_kinds(kinds, list(columns)) if kinds else {}
        return cls(
            tuple(FeatureColumn.learn(name, columns[name], known.get(name)) for name in sorted(columns))
        )

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each column of the catalogue."""
        return {column.name: column.kind for column in self.columns}

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups."""
        return tuple(group.name for column in self.columns for group in column.groups)

    @cached_property
    def group_of(self) -> Ints:
        """Number of the group that each column of the matrix belongs to."""
        widths = [group.width for column in self.columns for group in column.groups]
        numbers = np.repeat(np.arange(len(widths)), widths)
        numbers.flags.writeable = False
        return numbers

    def encode(self, table: Any) -> csr_array:
        """Rows of features for items, known or new; other columns, and what was never seen before, are left out."""
        columns = _columns(table)
        for name in self.kinds:
            if name not in columns:
                raise CatalogueInvalid(
                    f"the items have no column {name!r}, which is one of their features; leave single values empty "
                    "where they are not known"
                )
        parts = [part for column in self.columns for part in column.encode(columns[column.name])]
        empty = csr_array((len(next(iter(columns.values()))), 0), dtype=np.float64)
        matrix = csr_array(hstack([empty, *parts], format="csr"))
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix

    def to_json(self) -> str:
        """All that :meth:`encode` needs, as one JSON object."""
        columns = _adapter().dump_python(self.columns, mode="json")
        return json.dumps({"version": _VERSION, "columns": columns}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what :meth:`to_json` wrote, checked."""
        try:
            stored = json.loads(text)
            if (
                not isinstance(stored, dict)
                or list(stored) != ["version", "columns"]
                or stored["version"] != _VERSION
            ):
                raise ValueError(f"it must be an object with version {_VERSION} and columns")
            return cls(_adapter().validate_json(json.dumps(stored["columns"])))
        except (ValueError, ValidationError, RecursionError) as error:
            raise CatalogueInvalid(f"this is no stored encoder of item features: {error}") from None


@dataclass(frozen=True, eq=False)
class ItemFeatures:
    """Features of the items of a catalogue, in its order: what makes rows of new items, and the matrix of these.

    **Privacy.** Public, as the catalogue is.
    """

    encoder: FeatureEncoder
    matrix: csr_array

    @classmethod
    def learn(cls, table: Any, kinds: Mapping[str, Kind | None] | None = None) -> Self:
        """Learn an encoder from columns and apply it to them; the parameters of :meth:`FeatureEncoder.learn`."""
        encoder = FeatureEncoder.learn(table, kinds)
        return cls(encoder, encoder.encode(table))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.matrix.shape[0])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the catalogue's columns."""
        return tuple(self.encoder.kinds)

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups."""
        return self.encoder.groups

    @property
    def group_of(self) -> Ints:
        """Number of the group that each column of the matrix belongs to."""
        return self.encoder.group_of

    @cached_property
    def digest(self) -> str:
        """SHA-256 of matrix and groups: who has the same digest has the same features."""
        matrix = self.matrix.copy()
        matrix.sum_duplicates()
        hashed = hashlib.sha256(json.dumps([self.groups, matrix.shape]).encode())
        for numbers in (self.group_of, matrix.indptr, matrix.indices):
            hashed.update(np.asarray(numbers, dtype="<i8").tobytes())
        hashed.update(np.asarray(matrix.data, dtype="<f8").tobytes())
        return hashed.hexdigest()

    def __repr__(self) -> str:
        return f"ItemFeatures({self.n_items} items, {len(self.group_of)} columns: {', '.join(self.groups)})"


@cache
def _adapter() -> TypeAdapter[tuple[FeatureColumn, ...]]:
    return TypeAdapter(tuple[FeatureColumn, ...])


def _columns(table: Any) -> dict[str, Values]:
    """Columns of anything that has them, all of one length."""
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, np.ndarray):
        table = {_UNNAMED: table}
    if not isinstance(table, Mapping | pl.DataFrame) and type(table).__module__.partition(".")[0] != "pandas":
        if not hasattr(table, "__arrow_c_stream__"):
            raise CatalogueInvalid(
                f"features cannot be read from {type(table).__name__}; give columns by name, a polars, pandas or "
                "Arrow table, or a matrix of numbers"
            )
        table = pl.DataFrame(table)
    names = table.columns if isinstance(table, pl.DataFrame) else list(table)
    columns = {str(name): _column(str(name), table[name]) for name in names}
    if not columns:
        raise CatalogueInvalid("there are no features: name at least one column")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise CatalogueInvalid(f"the features differ in length: {lengths}")
    return columns


def _column(name: str, values: Any) -> Values:
    if isinstance(values, pl.Series) and values.dtype != pl.Object:
        return values
    if isinstance(values, np.ndarray) and values.ndim == 2:
        if values.dtype.kind not in "fiub":
            raise CatalogueInvalid(f"the embedding {name!r} has something other than numbers in it")
        return values.astype(np.float64)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub" and values.ndim == 1:
        return pl.Series(name, values)
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise CatalogueInvalid(f"the feature {name!r} needs a value for each item, not {values!r}")
    missing = [None if isinstance(value, float) and np.isnan(value) else value for value in values]
    try:
        return pl.Series(name, missing, strict=False)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise CatalogueInvalid(f"the feature {name!r} cannot be read: {error}") from None
