"""Columns of a catalogue as features: what kind a column is, and what of it goes into which group.

All texts are compared in one form (Unicode NFKC, lower case, single spaces). Accents stay: they make another word.
Every row of a group has a squared length of about 1 (or is empty, where nothing is known), so that the variance of a
group's weights is the variance of items that the group explains. What is learnt is the same to the last bit wherever it
is learnt: sums are exact (``math.fsum``), quantiles are values that occur, all else is elementary on single numbers.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
import polars as pl
from pydantic import ConfigDict
from scipy.sparse import csr_array

from discreet.errors import CatalogueInvalid
from discreet.types import Floats

__all__ = ["KINDS", "FeatureColumn", "FeatureNames", "Group", "Kind", "Values", "read_kinds", "take_year"]

Form: TypeAlias = Literal["tokens", "number", "dense", "bins"]
Bags: TypeAlias = Sequence[Iterable[str]]

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
# Between the two tokens of a pair; a token itself has single spaces only.
_BETWEEN = "\t"
# More tags than that make thousands of pairs, of which hardly any tells items apart.
_MOST_PAIRED = 40
_YEAR = re.compile(r"(?<![0-9])(?:1[0-9]{3}|20[0-9]{2}|2100)(?![0-9])")
_YEAR_IN_BRACKETS = re.compile(r"[(\[]\s*(1[0-9]{3}|20[0-9]{2}|2100)\s*[)\]]")
_BRACKET = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
_VOLUME = re.compile(r"#\s*[0-9][0-9.,–-]*|[0-9][0-9.,–-]*\s*$")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_PLAIN_WORD = re.compile(r"[a-z0-9]+")

_FEWEST_ITEMS = 2
_LARGEST_VOCABULARY = 50_000
_BINS = 10
_FARTHEST = 3.0
# A new item's embedding may be larger than all that were learnt from, but not beyond all bounds.
_FARTHEST_OUT = 10.0

_Facets: TypeAlias = dict[str, tuple[Form, Any]]
"""By the end of the group's name: its form, and what it is learnt from and made of."""


@dataclass(frozen=True)
class Group:
    """What was learnt of a group; each form has its own fields.

    Parameters
    ----------
    tokens
        Form ``tokens``, a column each: those that at least two items share, and not all; sorted.
    knots
        Form ``bins``, ten soft bins of about equally many items: a value between two knots belongs to both.
    unit, mean, spread
        Forms ``number`` (one column, no farther than 3 from the mean) and ``dense`` (one for each dimension of an
        embedding): the largest value, so that sums of squares stay finite; in units of it the mean of each dimension,
        and the root mean square length of centred rows.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    name: str
    form: Form
    tokens: tuple[str, ...] = ()
    knots: tuple[float, ...] = ()
    unit: float = 1.0
    mean: tuple[float, ...] = ()
    spread: float = 1.0

    def __post_init__(self) -> None:
        own = {"tokens": self.tokens, "bins": self.knots}.get(self.form, self.mean)
        if len(own) < (2 if self.form == "bins" else 1) or self.width != len(own):
            raise ValueError("a group of features must have the columns of its form, and no others")
        for names in (self.tokens, self.knots):
            if not all(one < other for one, other in pairwise(names)):  # type: ignore[operator]
                raise ValueError("the columns of a group of features must be there, each once and in order")
        if not (self.unit > 0.0 and self.spread > 0.0):
            raise ValueError("the scale of a group of features must be above 0")

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.tokens) + len(self.knots) + len(self.mean)

    def encode(self, values: Any) -> csr_array:
        """Rows of the items (bags of tokens, numbers, or rows of numbers); what is not known is left out."""
        if self.form == "tokens":
            return self._of_tokens(values)
        return self._of_bins(values) if self.form == "bins" else self._of_numbers(values)

    def _of_tokens(self, bags: Bags) -> csr_array:
        """A row's tokens share a squared length of 1."""
        places = {token: place for place, token in enumerate(self.tokens)}
        rows = [sorted({places[token] for token in bag if token in places}) for bag in bags]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        values = np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
        columns = np.fromiter((place for row in rows for place in row), np.int64, int(lengths.sum()))
        return self._matrix(values, columns, lengths)

    def _of_numbers(self, rows: Floats) -> csr_array:
        known = np.isfinite(rows).all(axis=1)
        with np.errstate(over="ignore"):
            scaled = np.clip(rows[known] / self.unit, -_FARTHEST_OUT, _FARTHEST_OUT)
            standard = (scaled - np.array(self.mean)) / self.spread
        if self.form == "number":
            standard = np.clip(standard, -_FARTHEST, _FARTHEST)
        columns = np.tile(np.arange(self.width), int(known.sum()))
        return self._matrix(standard.ravel(), columns, self.width * known.astype(np.int64))

    def _of_bins(self, values: Floats) -> csr_array:
        known, knots = np.isfinite(values), np.array(self.knots)
        clipped = np.clip(values[known], knots[0], knots[-1])
        left = np.clip(np.searchsorted(knots, clipped, side="right") - 1, 0, self.width - 2)
        with np.errstate(over="ignore"):  # where a difference would overflow, take it of halves
            unit = np.where(np.isfinite(np.diff(knots)), 1.0, 0.5)[left]
        low, high = knots[left] * unit, knots[left + 1] * unit
        share = (clipped * unit - low) / (high - low)
        weights = np.column_stack([1.0 - share, share])
        weights /= np.sqrt(np.square(weights[:, 0]) + np.square(weights[:, 1]))[:, np.newaxis]
        columns = np.column_stack([left, left + 1])
        return self._matrix(weights.ravel(), columns.ravel(), 2 * known.astype(np.int64))

    def _matrix(self, values: Floats, columns: Any, lengths: Any) -> csr_array:
        pointers = np.concatenate([[0], np.cumsum(lengths)])
        return csr_array((values, columns, pointers), shape=(len(lengths), self.width))


def _learn_group(name: str, form: Form, values: Any, common: float = 1.0) -> Group | None:
    """A group of the values of all items, or nothing where they tell no two items apart.

    Tokens of more than the share ``common`` of the items are left out.
    """
    if form == "tokens":
        counts = Counter(token for bag in values for token in set(bag))
        most = len(values) - 1 if common >= 1.0 else max(_FEWEST_ITEMS, int(common * len(values)))
        known = [(-count, token) for token, count in counts.items() if _FEWEST_ITEMS <= count <= most]
        tokens = sorted(token for _, token in sorted(known)[:_LARGEST_VOCABULARY])
        return Group(name, form, tokens=tuple(tokens)) if tokens else None
    if form == "bins":
        ordered = np.sort(values[np.isfinite(values)])
        places = [round(share * (len(ordered) - 1) / (_BINS - 1)) for share in range(_BINS)]
        knots = sorted({float(ordered[place]) + 0.0 for place in places}) if len(ordered) else []
        return Group(name, form, knots=tuple(knots)) if len(knots) > 1 else None
    rows = values[np.isfinite(values).all(axis=1)]
    unit = float(np.abs(rows).max(initial=0.0))
    if unit == 0.0 or (rows == rows[0]).all():
        return None
    columns = [column / unit for column in rows.T]
    mean = [_mean(column) for column in columns]
    squares = [_mean(np.square(column - middle)) for column, middle in zip(columns, mean, strict=True)]
    spread = math.sqrt(math.fsum(squares))
    return Group(name, form, unit=unit, mean=tuple(mean), spread=spread) if spread > 0.0 else None


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values)


@dataclass(frozen=True)
class FeatureColumn:
    """What was learnt from a column; no groups where it tells no two items apart.

    ``separators`` are the characters between the tags or people of an item.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    name: str
    kind: Kind
    separators: str
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        nothing: Values = np.empty((0, 0)) if self.kind == "embedding" else pl.Series([], dtype=pl.String)
        facets = _facets(self.name, nothing, self.kind, self.separators)
        possible = {self.name + suffix: form for suffix, (form, _) in facets.items()}
        found = {group.name: group.form for group in self.groups}
        if len(found) < len(self.groups) or not found.items() <= possible.items():
            raise ValueError(f"the column {self.name!r} has groups that no {self.kind} has")
        if self.separators not in (_TAG_SEPARATORS, _LIST_SEPARATORS):
            raise ValueError(f"the column {self.name!r} has separators that no column has")

    @classmethod
    def learn(cls, name: str, values: Values, kind: Kind | None = None) -> Self:
        """Kind (if none is given), vocabulary, means and scales of a column."""
        kind = _guess_kind(name, values) if kind is None else kind
        separators = _separators(values, kind)
        facets = _facets(name, values, kind, separators)
        if not any(_has_values(facet) for _, facet in facets.values()):
            raise CatalogueInvalid(
                f"the column {name!r} has nothing to read as {kind} in any row; leave it out of the features, or name "
                f"another kind: {', '.join(KINDS)}"
            )
        learnt = (
            _learn_group(name + suffix, *facet, common=_COMMON_WORDS if suffix == " words" else 1.0)
            for suffix, facet in facets.items()
        )
        return cls(name, kind, separators, tuple(group for group in learnt if group is not None))

    def encode(self, values: Values) -> list[csr_array]:
        """Rows of items for each group; what was not seen when it was learnt is left out."""
        facets = _facets(self.name, values, self.kind, self.separators)
        parts = []
        for group in self.groups:
            _, facet = facets[group.name.removeprefix(self.name)]
            if group.form == "dense" and facet.shape[1] != group.width:
                raise CatalogueInvalid(
                    f"the embedding {self.name!r} has {facet.shape[1]} numbers an item where {group.width} are known"
                )
            parts.append(group.encode(facet))
        return parts


def read_kinds(features: FeatureNames, names: Sequence[str]) -> dict[str, Kind | None]:
    """Of all columns those that are features, each with its kind or None where it is to be guessed.

    They come as ``"genres,title"``, a list of names, or a mapping of names to kinds; a name may have its kind after a
    colon (``"authors:people"``).
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


def _guess_kind(name: str, values: Values) -> Kind:
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
    known = values.str.strip_chars()
    known = known.filter(known != "")
    if len(known) and known.cast(pl.Float64, strict=False).is_finite().fill_null(False).all():
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


def _has_values(facet: Any) -> bool:
    """A column without any value is a wrong column; one that is the same everywhere is merely of no use."""
    return bool(np.isfinite(facet).any()) if isinstance(facet, np.ndarray) else any(map(len, facet))


def _facets(name: str, values: Values, kind: Kind, separators: str) -> _Facets:
    try:
        return _read(name, values, kind, separators)
    except (pl.exceptions.PolarsError, UnicodeError) as error:
        raise CatalogueInvalid(f"the column {name!r} cannot be read as {kind}: {error}") from None


def _read(name: str, values: Values, kind: Kind, separators: str) -> _Facets:
    if kind == "embedding":
        return {"": ("dense", _rows(name, values))}
    if isinstance(values, np.ndarray):
        raise CatalogueInvalid(f"{name!r} has many numbers an item, which is an embedding and not {kind}")
    if values.dtype in (pl.Struct, pl.Binary):
        raise CatalogueInvalid(f"the column {name!r} cannot be read as {kind}: it has {values.dtype}")
    if kind == "number":
        numbers = _numbers(values)
        return {"": ("number", _column(numbers)), " bins": ("bins", numbers)}
    if kind == "text":
        return _text_facets(_texts(values))
    bags = _bags(values, separators if kind != "category" else "")
    facets: _Facets = {"": ("tokens", bags)}
    if kind == "tags":
        facets[" pairs"] = ("tokens", [_pairs(bag) for bag in bags])
    if kind == "people":
        facets[" first"] = ("tokens", [bag[:1] for bag in bags])
    return facets


def _text_facets(texts: Sequence[str | None]) -> _Facets:
    taken = [take_year(_normal(text or "")) for text in texts]
    listed = [_words(text) for _, text in taken]
    years = [year for year, _ in taken]
    return {
        " words": ("tokens", listed),
        " word pairs": ("tokens", [[_BETWEEN.join(pair) for pair in pairwise(words)] for words in listed]),
        " series": ("tokens", [_series(text) for _, text in taken]),
        " year": ("number", _column(np.array([np.nan if year is None else float(year) for year in years]))),
        " years": ("tokens", [[] if year is None else [str(year)] for year in years]),
        " decades": ("tokens", [[] if year is None else [f"{year // 10}0s"] for year in years]),
    }


def _column(numbers: Floats) -> Floats:
    return numbers[:, np.newaxis]


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
    """The tokens of each item, in their order, without repeats."""
    if isinstance(values.dtype, pl.List | pl.Array):
        split = [_some(one) for one in values.to_list()]
    elif separators:
        split = [re.split(f"[{re.escape(separators)}]", text or "") for text in _texts(values)]
    else:
        split = [[text or ""] for text in _texts(values)]
    named = ([_normal(part) for part in one] for one in split)
    return [list(dict.fromkeys(part for part in one if part)) for one in named]


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
    try:
        rows = np.array([[None] * width if row is None else row for row in listed], dtype=np.float64)
    except (TypeError, ValueError):
        raise CatalogueInvalid(f"the embedding {name!r} has something other than numbers in it") from None
    return rows.reshape(-1, width)


def _normal(text: str) -> str:
    """One form for all ways to write the same text."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def _words(text: str) -> list[str]:
    """The words of a normal text in their order: letters, digits and the marks that belong to them."""
    text = _APOSTROPHE.sub("", text)
    if text.isascii():
        return _PLAIN_WORD.findall(text)
    # Vowel signs of Hindi, Thai and others are marks, which the expression \w would split words at.
    return "".join(
        letter if letter.isalnum() or unicodedata.category(letter).startswith("M") else " " for letter in text
    ).split()


def _pairs(tokens: Iterable[str]) -> list[str]:
    """Each unordered pair of distinct tokens; of very many tokens those of the first in the alphabet."""
    first = sorted(set(tokens))[:_MOST_PAIRED]
    return [_BETWEEN.join(pair) for pair in combinations(first, 2)]


def take_year(text: str) -> tuple[int | None, str]:
    """The year that a normal text names, from 1000 to 2100, and the text without it.

    The last year that stands alone in brackets, as in ``2001: a space odyssey (1968)``; else the last one at all.
    """
    found = list(_YEAR_IN_BRACKETS.finditer(text)) or list(_YEAR.finditer(text))
    if not found:
        return None, text
    match = found[-1]
    return int(match[match.lastindex or 0]), f"{text[: match.start()]} {text[match.end() :]}"


def _series(text: str) -> list[str]:
    """What a normal text has in brackets, each without its number: ``(Legend, #3)`` is of the series ``legend``."""
    inside = (match[1] if match[1] is not None else match[2] for match in _BRACKET.finditer(text))
    named = (" ".join(_words(_VOLUME.sub(" ", content))) for content in inside)
    return [name for name in named if name]
