"""The item side as the page reads it: one safetensors file, factors as small integers with a scale for each item.

    factors        int8 or int16 with ``factor_scales`` (one for each item), or floats as they are
    offsets, order, marks, and what the fold-in rule needs
    __metadata__   "page": everything that is no array, as JSON

In place of factors a table of weights has, at about two bytes a weight before compression:

    head       positions of the items that the table speaks of
    lengths    how many weights the row of each has
    steps      from one weight's item to the next one's, as places in the head less one; 255 means: and on
    weights    q |q| / largest^2 times the ``weight_scales`` of the weight's item, or floats as they are

Most weights of an item are small beside its largest: roots keep more of them than even steps do
(``benchmarks/page.py`` shows how few lists change).
Squares of the factors (gravity of clicks) are kept as they were before: they are small, and exact.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from discreet.catalogue import RatingScale
from discreet.model import Model
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import ItemWeights
from discreet.statements.document import Document
from discreet.statements.words import alone, answers, attack_sentence, headline, printable
from discreet.types import Floats, Ints, Singles

__all__ = ["PRECISIONS", "Precision", "pack", "quantised", "rounded_weights"]

Precision: TypeAlias = Literal["int8", "int16", "float32", "float64"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

FORMAT, VERSION = "discreet-page", 1
_ON = 255
_MARKS = {None: 0, "unknown": 1, "guess": 2}


def pack(model: Model, document: Document, precision: Precision = "int8") -> bytes:
    """The one file of numbers and words that the page loads."""
    side = model.item_side
    kind = np.float64 if precision == "float64" else np.float32
    if isinstance(side, ItemWeights):
        words: dict[str, Any] = {}
        base, arrays = side.base, _packed_table(side, precision)
    else:
        base, (words, arrays) = side.offsets, _of_factors(side, precision)
    arrays |= {"offsets": base.astype(kind), "order": side.best_known.astype(np.int32)}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "digest": document.model.digest,
        "method": model.method,
        "goal": model.goal,
        "scale": side.scale.range,
        "opinions": _opinions(side.scale),
        **words,
        "precision": precision,
        "titles": _titles(model),
        "notes": model.notes,
        "lists": not side.says_nothing,
        "statement": _words(document),
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    packed: bytes = save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()}, {"page": text}
    )
    return packed


def quantised(
    factors: Floats, kind: type[np.signedinteger[Any]]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """Whole numbers and one scale for each row, whose product is the row up to half a step of its largest entry."""
    largest = np.iinfo(kind).max
    scales = (np.abs(factors).max(axis=1, initial=0.0) / largest).astype(np.float32)
    steps = np.where(scales > 0.0, scales, 1.0).astype(np.float64)
    whole = np.clip(np.rint(factors / steps[:, np.newaxis]), -largest, largest)
    return whole.astype(kind), scales


def _opinions(scale: RatingScale) -> list[float]:
    """What values of a history say, at five places of the range or of a click and its opposite."""
    low, high = scale.range or (-1.0, 1.0)
    said: list[float] = scale.opinions(np.linspace(low, high, 5 if scale.explicit else 2)).tolist()
    return said


def _of_factors(side: ItemSide, precision: Precision) -> tuple[dict[str, Any], Arrays]:
    rule, arrays = _rule(side)
    arrays |= _factors(side.factors, precision)
    if side.noise_ratio is not None:
        marks = side.marks(np.arange(side.n_items))
        arrays["marks"] = np.array([_MARKS[mark] for mark in marks], dtype=np.uint8)
    return {"centre": side.centre, "rule": rule}, arrays


def _factors(factors: Floats, precision: Precision) -> Arrays:
    if precision == "float64" or precision == "float32":
        return {"factors": factors.astype(precision)}
    whole, scales = quantised(factors, np.int8 if precision == "int8" else np.int16)
    return {"factors": whole, "factor_scales": scales}


def _rule(side: ItemSide) -> tuple[dict[str, Any], Arrays]:
    """The rule's numbers by name, and its arrays."""
    rule = side.rule
    arrays: Arrays = {name: value for name, value in vars(rule).items() if isinstance(value, np.ndarray)}
    numbers = {name: value for name, value in vars(rule).items() if name not in arrays}
    if isinstance(rule, Clicks):
        arrays |= dict(zip(("squares", "product"), side.moments, strict=True))
    return {"kind": type(rule).__name__, **numbers}, arrays


def _titles(model: Model) -> list[str]:
    """As a person reads them; the id where there is no title."""
    titles = model.catalogue.titles
    return [printable(titles.get(one, str(one))) for one in model.catalogue.ids.tolist()]


def _words(document: Document) -> dict[str, Any]:
    statement, meaning = document.statement, document.meaning
    return {
        "private": statement.private,
        "headline": headline(statement),
        "answers": [
            {"question": one.question, "short": one.short, "more": one.more}
            for one in answers(statement, meaning)
        ],
        "attack": None
        if meaning is None or not statement.released
        else ". ".join(
            [attack_sentence(statement, meaning).removesuffix("."), *alone(statement), ""]
        ).strip(),
    }


def _packed_table(side: ItemWeights, precision: Precision) -> Arrays:
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
