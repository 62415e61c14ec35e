"""A run of a private method, written down, as the audit does it, with the budget, seed and noise of the suite."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from discreet import Budget, Ratings
from discreet.audit.replay import ENGINES as IN_MEMORY
from discreet.audit.replay import (
    DividedEngine,
    MakeEngine,
    Run,
    answers,
    converse_with,
    same_totals,
)
from discreet.audit.replay import record as record_run
from discreet.methods.method import PrivateMethod
from discreet.model.wire import to_parts
from discreet.privacy import Noise
from tests.conformance.on_disk import StoredEngine

__all__ = [
    "ENGINES",
    "KEY",
    "LARGE",
    "SEED",
    "DividedEngine",
    "MakeEngine",
    "Run",
    "answers",
    "converse_with",
    "parts",
    "record",
    "same",
    "same_totals",
]

ENGINES: dict[str, MakeEngine] = {**IN_MEMORY, "disk": StoredEngine}
"""Every way to add users up."""

LARGE = Budget(500.0, 1e-6)
SEED = 5
KEY = "a run that is written down"


def record(
    method: PrivateMethod,
    ratings: Ratings,
    budget: Budget = LARGE,
    seed: int = SEED,
    noise: Callable[[], Noise] = lambda: Noise.fixed_key_not_private(KEY),
) -> Run:
    """Train and write everything down."""
    return record_run(method, ratings, budget, seed, noise)


def parts(value: Any) -> tuple[str, dict[str, tuple[Any, ...]]]:
    """A public thing to the last bit, comparable."""
    content, arrays = to_parts(value)
    said = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}
    return json.dumps(content, sort_keys=True), said


def same(one: Any, other: Any) -> bool:
    """Whether two public things are the same to the last bit."""
    return parts(one) == parts(other)
