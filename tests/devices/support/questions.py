"""Small questions and crowds for the tests of the local model."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from discreet.devices.device.item_side import DeviceItemSide
from discreet.devices.device.question import Kind, Question

SEED = "0123456789abcdef" * 4


def question(kind: Kind, **changes: Any) -> Question:
    fields: dict[str, Any] = {
        "task": "films",
        "round": 1,
        "kind": kind,
        "epsilon": 1.0,
        "seed": SEED,
        "rotations": 16,
        "items": 50,
        "rank": 2 if kind == "factors" else 0,
        "range": (1.0, 5.0),
    }
    return Question(**(fields | changes))


def released(items: int, rank: int, rng: np.random.Generator) -> DeviceItemSide:
    return DeviceItemSide(
        2,
        items,
        rank,
        offsets=array("f", rng.normal(0.0, 0.5, items)),
        factors=array("f", rng.normal(0.0, 0.5, items * rank)),
        centre=3.0,
        factor_penalty=0.7,
    )


def crowd(users: int, items: int, most: int, rng: np.random.Generator) -> list[dict[int, float]]:
    """Histories from none to ``most`` ratings, popular items first."""
    chance = 1.0 / np.arange(1, items + 1) ** 0.8
    chance /= chance.sum()
    out = []
    for _ in range(users):
        chosen = np.sort(rng.choice(items, rng.integers(0, most + 1), replace=False, p=chance))
        out.append({int(item): float(rng.integers(1, 6)) for item in chosen})
    return out


def rows(histories: list[dict[int, float]]) -> tuple[Any, Any, Any]:
    indptr = np.cumsum([0] + [len(history) for history in histories])
    items = np.array([item for history in histories for item in history], dtype=np.int32)
    values = np.array([value for history in histories for value in history.values()])
    return indptr, items, values


def pseudonyms(users: int, rng: np.random.Generator) -> Any:
    return rng.integers(0, 256, (users, 16), dtype=np.uint8)
