"""Quick tests of an installation: each takes well under a second once the kernels are compiled."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from randomgen import AESCounter

from discreet import kernels
from discreet.catalogue import Catalogue, RatingScale
from discreet.model import Model
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.statement import Statement

__all__ = [
    "CHECKS",
    "Outcome",
    "accounting",
    "aes_hardware",
    "compile_cache",
    "kernel_agreement",
    "noise_source",
    "storage_round_trip",
]


class Outcome(NamedTuple):
    """Whether a check passed, and what it saw."""

    ok: bool
    detail: str


def noise_source() -> Outcome:
    """Cryptographic noise: the right scale, and never the same twice."""
    first, second = Noise().normals(100_000), Noise().normals(100_000)
    scale = float(first.std())
    # the standard deviation of 100,000 normals strays by 0.0022; five times that is a wrong generator
    right = abs(scale - 1.0) < 0.011 and abs(float(first.mean())) < 0.016
    return Outcome(
        right and not np.array_equal(first, second), f"standard deviation {scale:.4f} of 100,000 draws"
    )


def aes_hardware() -> Outcome:
    """AES instructions make noise fast; without them it is the same noise, more slowly."""
    fast = bool(AESCounter(key=1).use_aesni)
    return Outcome(
        True, "AES instructions are used" if fast else "no AES instructions: noise is slower, not weaker"
    )


def kernel_agreement() -> Outcome:
    """Compiled kernels against plain NumPy on a small problem."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 12, 60)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    items = np.concatenate([np.sort(rng.choice(40, count, replace=False)) for count in counts]).astype(
        np.int32
    )
    features, targets = rng.standard_normal((40, 5)), rng.standard_normal(len(items))
    rows = [(features[items[start:end]], targets[start:end]) for start, end in pairwise(indptr)]
    whole = rng.integers(-4000, 4000, (60, 5)).astype(np.int16)
    t_indptr, t_users = kernels.transpose(indptr, items, 40)[:2]
    columns = [whole[t_users[start:end]].astype(np.int64) for start, end in pairwise(t_indptr)]
    people = rng.standard_normal((9, 5))
    best, scores = kernels.top_n(people, features, np.zeros(40), 7)
    differences = {
        "solve_rows": _apart(
            kernels.solve_rows(indptr, items, targets, features, np.full(5, 0.5)),
            [np.linalg.solve(row.T @ row + 0.5 * np.eye(5), row.T @ goal) for row, goal in rows],
        ),
        "item_moments": _apart(kernels.item_moments(t_indptr, t_users, whole), [c.T @ c for c in columns]),
        "top_n": _apart(scores, np.take_along_axis(people @ features.T, best.astype(np.int64), 1))
        + _apart(scores, -np.sort(-(people @ features.T))[:, :7]),
    }
    right = differences["item_moments"] == 0.0 and max(differences.values()) < 1e-9
    return Outcome(right, ", ".join(f"{name} {value:.1g}" for name, value in differences.items()))


def storage_round_trip() -> Outcome:
    """Save a model, load it, and find it unchanged."""
    rng = np.random.default_rng(0)
    side = ItemSide(
        RatingScale((1.0, 5.0)), 3.0, rng.standard_normal(9), rng.standard_normal((9, 2)), Ridge()
    )
    model = Model(side, Catalogue(range(9)), Statement.not_private("made by the doctor"), "none")
    with tempfile.TemporaryDirectory() as folder:
        back = Model.load(model.save(Path(folder) / "model"))
    same = np.array_equal(back.predict({3: 5.0}, range(9)), model.predict({3: 5.0}, range(9)))
    return Outcome(same, "a model came back to the last bit" if same else "a model came back changed")


def accounting() -> Outcome:
    """A known conversion, exact to the digits shown."""
    mu = Budget(1.0, 1e-6).mu
    return Outcome(abs(mu - 0.2367) < 5e-5, f"epsilon 1, delta 1e-6 buys mu {mu:.4f}")


def compile_cache() -> Outcome:
    """Compiled kernels are kept on disk; otherwise every start pays for compiling them."""
    folders = {Path(path) for path in _cache_folders()}
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    return Outcome(bool(folders), ", ".join(map(str, sorted(folders))) or "no kernel is cached")


def _apart(found: Any, wanted: Any) -> float:
    """Largest difference between what a kernel gave and what NumPy says; infinite where a number is missing."""
    apart = np.abs(np.asarray(found) - np.asarray(wanted))
    return float("inf") if np.isnan(apart).any() else float(apart.max())


def _cache_folders() -> Iterator[str]:
    for name, module in list(sys.modules.items()):
        if name.startswith("discreet."):
            for value in vars(module).values():
                path = getattr(getattr(value, "stats", None), "cache_path", None)
                if isinstance(path, str):
                    yield path


CHECKS: dict[str, Callable[[], Outcome]] = {
    "noise source": noise_source,
    "AES hardware": aes_hardware,
    "accounting": accounting,
    "kernels": kernel_agreement,
    "compile cache": compile_cache,
    "storage": storage_round_trip,
}
