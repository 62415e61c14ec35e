"""Columns of a catalogue as features: what kind a column is, and what of it goes into which group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
import polars as pl
from pydantic import ConfigDict, Field
from scipy.sparse import csr_array

from discreet.catalogue import feature_text
from discreet.catalogue.feature_groups import BinGroup, DenseGroup, Group, NumberGroup, TokenGroup
from discreet.errors import CatalogueInvalid
from discreet.types import Floats

__all__ = ["KINDS", "FeatureColumn", "FeatureNames", "Kind", "Values", "guess_kind", "read_kinds"]

Kind: TypeAlias = Literal["number", "category", "tags", "text", "people", "embedding"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Values: TypeAlias = pl.Series | Floats
"""A column: a series, or rows of numbers (an embedding)."""
FeatureNames: TypeAlias = str | Iterable[str] | Mapping[str, Kind | None]
"""Which columns are features: names with commas between them, a list of names, or the kind of each name."""

_PEOPLE = frozenset(
    ("actors", "artist", "artists", "author", "authors", "cast", "director", "directors", "people", "writers")
)
_TAG_SEPARATORS, _LIST_SEPARATORS = "|;", ",;|"
# From this share of the rows on, a separator in a text is not an accident.
_SEPARATED = 0.1
_COMMON_WORDS = 0.2
# By kind: the end of each group's name, and the form of the group.
_GROUPS: dict[Kind, dict[str, str]] = {
    "number": {"": "number", " bins": "bins"},
    "category": {"": "tokens"},
    "tags": {"": "tokens", " pairs": "tokens"},
    "text": {
        " words": "tokens",
        " word pairs": "tokens",
        " series": "tokens",
        " year": "number",
        " years": "tokens",
        " decades": "tokens",
    },
    "people": {"": "tokens", " first": "tokens"},
    "embedding": {"": "dense"},
}
_Facet: TypeAlias = tuple[Callable[..., Group | None], Any]


@dataclass(frozen=True)
class FeatureColumn:
    """What was learnt from a column.

    Parameters
    ----------
    name, kind
        Of the column.
    separators
        Characters between the tags or people of an item.
    groups
        Groups of columns of the matrix; none where the column tells no two items apart.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    name: str
    kind: Kind
    separators: str
    groups: tuple[Annotated[Group, Field(discriminator="form")], ...]

    def __post_init__(self) -> None:
        possible = {self.name + suffix: form for suffix, form in _GROUPS[self.kind].items()}
        found = {group.name: group.form for group in self.groups}
        if len(found) < len(self.groups) or not found.items() <= possible.items():
            raise ValueError(f"the column {self.name!r} has groups that no {self.kind} has")
        if self.separators not in (_TAG_SEPARATORS, _LIST_SEPARATORS):
            raise ValueError(f"the column {self.name!r} has separators that no column has")

    @classmethod
    def learn(cls, name: str, values: Values, kind: Kind | None = None) -> Self:
        """Kind (if none is given), vocabulary, means and scales of a column.

        Raises
        ------
        CatalogueInvalid
            When the column cannot be of this kind, or has no value at all.
        """
        kind = guess_kind(name, values) if kind is None else kind
        separators = _separators(values, kind)
        facets = _facets(name, values, kind, separators)
        _refuse_empty(name, kind, facets)
        learnt = (learn(name + suffix, facet) for suffix, (learn, facet) in facets.items())
        return cls(name, kind, separators, tuple(group for group in learnt if group is not None))

    def encode(self, values: Values) -> list[csr_array]:
        """Rows of items for each group; what was not seen when it was learnt is left out."""
        facets = _facets(self.name, values, self.kind, self.separators)
        parts = []
        for group in self.groups:
            _, facet = facets[group.name.removeprefix(self.name)]
            if isinstance(group, DenseGroup) and facet.shape[1] != group.width:
                raise CatalogueInvalid(
                    f"the embedding {self.name!r} has {facet.shape[1]} numbers an item where {group.width} are known"
                )
            parts.append(group.encode(facet))
        return parts


def read_kinds(features: FeatureNames, names: Sequence[str]) -> dict[str, Kind | None]:
    """The columns that are features, each with its kind or None where it is to be guessed.

    Parameters
    ----------
    features
        ``"genres,title"``, a list of names, or a mapping of names to kinds; a name may have its kind after a colon
        (``"authors:people"``).
    names
        All columns there are.
    """
    if isinstance(features, Mapping):
        wanted = dict(features)
    else:
        parts = features.split(",") if isinstance(features, str) else list(features)
        wanted = dict(_with_kind(part.strip(), names) for part in parts if part.strip())
    for name, kind in wanted.items():
        if name not in names:
            raise CatalogueInvalid(
                f"there is no column {name!r} for the features; there are {', '.join(names)}"
            )
        if kind is not None and kind not in KINDS:
            raise CatalogueInvalid(f"a feature is one of {', '.join(KINDS)}, not {kind!r}")
    if not wanted:
        raise CatalogueInvalid(f"no feature is named; there are the columns {', '.join(names)}")
    return wanted


def _with_kind(text: str, names: Sequence[str]) -> tuple[str, Any]:
    name, colon, kind = text.rpartition(":")
    return (name, kind) if colon and text not in names else (text, None)


def guess_kind(name: str, values: Values) -> Kind:
    """The kind of a column, from its type, its name and its content."""
    if isinstance(values, np.ndarray):
        return "embedding"
    dtype = values.dtype
    if isinstance(dtype, pl.List | pl.Array):
        return "embedding" if dtype.inner is not None and dtype.inner.is_float() else "tags"
    if dtype.is_numeric() or dtype.is_temporal():
        return "number"
    if name.lower() in _PEOPLE:
        return "people"
    if dtype != pl.String:
        return "category"
    known = values.filter(values.str.strip_chars() != "")
    if (
        len(known)
        and known.str.strip_chars().cast(pl.Float64, strict=False).is_finite().fill_null(False).all()
    ):
        return "number"
    if len(known) and float(known.str.contains(r"[|;]").mean()) >= _SEPARATED:  # type: ignore[arg-type]
        return "tags"
    return "category" if known.n_unique() <= 0.5 * len(known) else "text"


def _separators(values: Values, kind: Kind) -> str:
    if kind == "people":
        return _LIST_SEPARATORS
    if kind != "tags" or isinstance(values, np.ndarray) or values.dtype != pl.String:
        return _TAG_SEPARATORS
    return _TAG_SEPARATORS if values.str.contains(r"[|;]").any() else _LIST_SEPARATORS


def _facets(name: str, values: Values, kind: Kind, separators: str) -> dict[str, _Facet]:
    """By the end of the group's name: how the group is learnt, and from what."""
    try:
        return _read(name, values, kind, separators)
    except (pl.exceptions.PolarsError, UnicodeError) as error:
        raise CatalogueInvalid(f"the column {name!r} cannot be read as {kind}: {error}") from None


def _read(name: str, values: Values, kind: Kind, separators: str) -> dict[str, _Facet]:
    if kind == "embedding":
        return {"": (DenseGroup.learn, _rows(name, values))}
    if isinstance(values, np.ndarray):
        raise CatalogueInvalid(f"{name!r} has many numbers an item, which is an embedding and not {kind}")
    if values.dtype in (pl.Struct, pl.Binary):
        raise CatalogueInvalid(f"the column {name!r} cannot be read as {kind}: it has {values.dtype}")
    if kind == "number":
        numbers = _numbers(values)
        return {"": (NumberGroup.learn, numbers), " bins": (BinGroup.learn, numbers)}
    if kind == "text":
        return _text_facets(_texts(values))
    bags = _bags(values, separators if kind != "category" else "")
    if kind == "tags":
        return {
            "": (TokenGroup.learn, bags),
            " pairs": (TokenGroup.learn, [feature_text.pairs(bag) for bag in bags]),
        }
    if kind == "people":
        return {"": (TokenGroup.learn, bags), " first": (TokenGroup.learn, [bag[:1] for bag in bags])}
    return {"": (TokenGroup.learn, bags)}


def _text_facets(texts: Sequence[str | None]) -> dict[str, _Facet]:
    normal = [feature_text.normal(text or "") for text in texts]
    taken = [feature_text.take_year(text) for text in normal]
    listed = [feature_text.words(text) for _, text in taken]
    years = np.array([np.nan if year is None else float(year) for year, _ in taken])
    return {
        " words": (_learn_words, listed),
        " word pairs": (TokenGroup.learn, [feature_text.word_pairs(one) for one in listed]),
        " series": (TokenGroup.learn, [feature_text.series(text) for _, text in taken]),
        " year": (NumberGroup.learn, years),
        " years": (TokenGroup.learn, [[] if year is None else [str(year)] for year, _ in taken]),
        " decades": (TokenGroup.learn, [[] if year is None else [f"{year // 10}0s"] for year, _ in taken]),
    }


def _learn_words(name: str, listed: Sequence[list[str]]) -> TokenGroup | None:
    return TokenGroup.learn(name, listed, common=_COMMON_WORDS)


def _refuse_empty(name: str, kind: Kind, facets: dict[str, _Facet]) -> None:
    """A column without any value is a wrong column; a column that is the same everywhere is merely of no use."""
    for _, facet in facets.values():
        if isinstance(facet, np.ndarray):
            if np.isfinite(facet).any():
                return
        elif any(len(bag) for bag in facet):
            return
    raise CatalogueInvalid(
        f"the column {name!r} has nothing to read as {kind} in any row; leave it out of the features, or name "
        f"another kind: {', '.join(KINDS)}"
    )


def _numbers(values: pl.Series) -> Floats:
    """Numbers, NaN where there is none; days for a date, microseconds for a moment or a duration."""
    dtype = values.dtype
    if dtype.is_nested():
        raise CatalogueInvalid(f"the column {values.name!r} has lists where numbers are needed")
    if isinstance(dtype, pl.Datetime | pl.Duration):
        values = values.dt.cast_time_unit("us")
    elif not dtype.is_numeric() and not dtype.is_temporal():
        values = values.cast(pl.String).str.strip_chars()
    plain = values.to_physical() if dtype.is_temporal() else values
    numbers = plain.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy(writable=True)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def _texts(values: pl.Series) -> list[str | None]:
    dtype = values.dtype
    if isinstance(dtype, pl.List | pl.Array):
        return [None if one is None else " ".join(_some(one)) for one in values.to_list()]
    if dtype.is_float():
        whole = values.cast(pl.Int64, strict=False)
        values = whole if (whole.cast(pl.Float64) == values).all() else values
    listed: list[str | None] = values.cast(pl.String).to_list()
    return listed


def _bags(values: pl.Series, separators: str) -> list[list[str]]:
    if isinstance(values.dtype, pl.List | pl.Array):
        listed = (_some(one) for one in values.to_list())
        named = ((feature_text.normal(part) for part in one) for one in listed)
        return [list(dict.fromkeys(part for part in one if part)) for one in named]
    texts = [text or "" for text in _texts(values)]
    if separators:
        return [feature_text.parts(text, separators) for text in texts]
    return [[token] if (token := feature_text.normal(text)) else [] for text in texts]


def _some(parts: Sequence[Any] | None) -> list[str]:
    return [str(part) for part in parts or () if part is not None]


def _rows(name: str, values: Values) -> Floats:
    """Rows of numbers; NaN throughout where something is missing."""
    if isinstance(values, np.ndarray):
        return values
    listed = values.to_list() if isinstance(values.dtype, pl.List | pl.Array) else None
    widths = {len(row) for row in listed or () if row is not None}
    if listed is None or len(widths) > 1:
        raise CatalogueInvalid(f"the embedding {name!r} needs equally many numbers for every item")
    width = widths.pop() if widths else 0
    blank = [None] * width
    try:
        return np.array([blank if row is None else row for row in listed], dtype=np.float64).reshape(
            -1, width
        )
    except (TypeError, ValueError):
        raise CatalogueInvalid(f"the embedding {name!r} has something other than numbers in it") from None
