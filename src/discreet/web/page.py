"""All files of the page for one model: what ``discreet export web`` writes and ``discreet serve`` hands out.

``model.bin`` is one safetensors file, compressed. Of factors:

    factors        int8 with ``factor_scales`` (one for each item), or floats as they are
    offsets, order, marks, and what the fold-in rule needs
    __metadata__   "page": everything that is no array, as JSON

In place of factors a table of weights has, at about two bytes a weight before compression:

    head       positions of the items that the table speaks of
    lengths    how many weights the row of each has
    steps      from one weight's item to the next one's, as places in the head less one; 255 means: and on
    weights    q |q| / 127^2 times the ``weight_scales`` of the weight's item, or floats as they are

Most weights of an item are small beside its largest: roots keep more of them than even steps do
(``benchmarks/page.py`` shows how few lists change). Squares of the factors (gravity of clicks) are small, and exact.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from discreet.catalogue import RatingScale
from discreet.model import Model
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import ItemWeights
from discreet.statements.document import Document
from discreet.statements.page import page as statement_page
from discreet.statements.words import alone, answers, attack_sentence, headline, printable
from discreet.types import Floats, Ints, Singles

__all__ = [
    "INDEX",
    "MODEL",
    "POLICY",
    "SENT_WITH",
    "File",
    "Precision",
    "pack",
    "page_files",
    "rounded_weights",
]

Precision: TypeAlias = Literal["int8", "float64"]
Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

FORMAT, VERSION = "discreet-page", 1
_LARGEST = np.iinfo(np.int8).max
_ON = 255
_MARKS = {None: 0, "unknown": 1, "guess": 2}

INDEX, MODEL, _STATEMENT = "index.html", "model.bin", "statement.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""What the page may load. The page itself allows nothing at all any more once the model is there."""
SENT_WITH = {
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Headers of each file where the service hands it out."""

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "bin": "application/octet-stream",
}


@dataclass(frozen=True)
class File:
    """One file: its bytes, what they are, and the same compressed, where that is not done already."""

    content: bytes
    media_type: str
    packed: bytes | None
    digest: str


def page_files(model: Model, document: Document, precision: Precision = "int8") -> dict[str, File]:
    """Names and files; the model's own is compressed in itself, so that any host will do."""
    static = {entry.name: entry.read_bytes() for entry in (files("discreet.web") / "static").iterdir()}
    contents = {
        **static,
        _STATEMENT: statement_page(document).encode(),
        MODEL: gzip.compress(pack(model, document, precision), compresslevel=9, mtime=0),
    }
    return {name: _file(name, content) for name, content in contents.items()}


def _file(name: str, content: bytes) -> File:
    packed = None if name == MODEL else gzip.compress(content, mtime=0)
    digest = hashlib.sha256(content).hexdigest()[:32]
    return File(content, _TYPES[name.rpartition(".")[2]], packed, digest)


def pack(model: Model, document: Document, precision: Precision = "int8") -> bytes:
    """The one file of numbers and words that the page loads."""
    side, exact = model.item_side, precision == "float64"
    if isinstance(side, ItemWeights):
        words: dict[str, Any] = {}
        base, arrays = side.base, _packed_table(side, exact)
    else:
        base, (words, arrays) = side.offsets, _of_factors(side, exact)
    arrays |= {
        "offsets": base.astype(np.float64 if exact else np.float32),
        "order": side.best_known.astype(np.int32),
    }
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


def _quantised(factors: Floats) -> tuple[npt.NDArray[np.int8], Singles]:
    """Whole numbers and one scale for each row, whose product is the row up to half a step of its largest entry."""
    scales = (np.abs(factors).max(axis=1, initial=0.0) / _LARGEST).astype(np.float32)
    steps = np.where(scales > 0.0, scales, 1.0).astype(np.float64)
    whole = np.clip(np.rint(factors / steps[:, np.newaxis]), -_LARGEST, _LARGEST)
    return whole.astype(np.int8), scales


def _opinions(scale: RatingScale) -> list[float]:
    """What values of a history say, at five places of the range or of a click and its opposite."""
    low, high = scale.range or (-1.0, 1.0)
    said: list[float] = scale.opinions(np.linspace(low, high, 5 if scale.explicit else 2)).tolist()
    return said


def _of_factors(side: ItemSide, exact: bool) -> tuple[dict[str, Any], Arrays]:
    rule, arrays = _rule(side)
    if exact:
        arrays["factors"] = side.factors
    else:
        arrays["factors"], arrays["factor_scales"] = _quantised(side.factors)
    if side.noise_ratio is not None:
        marks = side.marks(np.arange(side.n_items))
        arrays["marks"] = np.array([_MARKS[mark] for mark in marks], dtype=np.uint8)
    return {"centre": side.centre, "rule": rule}, arrays


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


def _packed_table(side: ItemWeights, exact: bool) -> Arrays:
    head = np.flatnonzero(side.known)
    lengths = np.diff(side.starts)[head]
    arrays: Arrays = {
        "head": head.astype(np.int32),
        "lengths": lengths.astype(np.int32),
        "steps": _steps(np.searchsorted(head, side.others), lengths),
    }
    if exact:
        return arrays | {"weights": side.weights}
    whole, scales = rounded_weights(side)
    return arrays | {"weights": whole, "weight_scales": scales[head]}


def rounded_weights(side: ItemWeights) -> tuple[npt.NDArray[np.int8], Singles]:
    """Whole numbers, and the largest weight that speaks for each item of the catalogue."""
    scales = np.zeros(side.n_items, np.float32)
    np.maximum.at(scales, side.others, np.abs(side.weights))
    share = np.abs(side.weights) / np.where(scales > 0.0, scales, 1.0)[side.others]
    return (np.sign(side.weights) * np.rint(np.sqrt(share) * _LARGEST)).astype(np.int8), scales


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
