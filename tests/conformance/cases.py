"""All registered private methods with the settings they are tested with, and the worlds they are tested in."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from discreet import Ratings
from discreet.data import synthetic
from discreet.errors import RatingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.public.half import Facts
from discreet.methods.public.protocol import ProtocolRun
from discreet.methods.registry import METHODS
from tests.conformance.runs import LARGE

KINDS = ("explicit", "implicit")


@dataclass(frozen=True)
class Way:
    """One way to use a method.

    Parameters
    ----------
    settings
        Beside the defaults.
    reached
        Part of the bound that the loudest user must reach in every release, beside ordinary and hostile users.
    spends_all
        Whether the whole budget is spent; not where the noise is set.
    kinds
        Feedback it is run on: ratings alone where clicks take no other path through it.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    reached: float = 0.99
    spends_all: bool = True
    kinds: tuple[str, ...] = ("explicit",)


# A product or a normal equation reaches its bound only for a row along its direction, which need not be anybody's; the
# first release of budgeted ALS leaves room for variances that no real ratings have.
_DPALS = {"rank": 3, "max_ratings": 6, "penalty": 1.0, "typical_ratings": 8.0, "row_clip": 0.1}
WAYS: dict[str, dict[str, Way]] = {
    "budgeted": {
        "default": Way(reached=0.7, kinds=KINDS),
        "given rank": Way({"rank": 3, "rounds": 3}, reached=0.7),
        "offsets": Way({"rank": 0}, reached=0.7),
    },
    "dpals": {
        "tail": Way(_DPALS, reached=0.3, kinds=KINDS),
        "plain": Way(_DPALS | {"sampling": "uniform", "item_exponent": 0.0, "centre": "middle"}, reached=0.3),
        "weights, frequent items": Way(_DPALS | {"sampling": "weights", "frequent_share": 0.5}, reached=0.3),
        "gravity, spectral start": Way(
            _DPALS | {"gravity": 0.5, "start": "spectral", "orthonormal": True}, reached=0.3, kinds=KINDS
        ),
        "split users": Way(_DPALS | {"split_users": True, "rounds": 3, "project": False}, reached=0.1),
        "given sigmas": Way(
            _DPALS | {"sigma_matrix": 6.0, "sigma_vector": 4.0, "sigma_counts": 10.0},
            reached=0.3,
            spends_all=False,
        ),
    },
    "ease": {
        "default": Way(kinds=KINDS),
        "small head": Way({"head": 5, "keep_sums": False}),
    },
    "frank-wolfe": {
        "default": Way({"rounds": 4, "max_ratings": 10, "row_clip": 1.0}, kinds=KINDS),
        "as published, mean": Way(
            {"rounds": 3, "max_ratings": 6, "row_clip": 1.0, "centre": "mean", "skip_noise": False}
        ),
        "oja": Way({"rounds": 2, "eigenvector": "oja", "oja_steps": 3, "row_clip": 1.0}, reached=0.3),
    },
    "svd": {
        "default": Way({"row_clip": 0.5}, kinds=KINDS),
        "as published": Way({"rank": 3, "max_ratings": 5, "row_clip": 0.5, "denoise": False}),
        "all ratings": Way({"rank": 3, "max_ratings": None, "mean_share": 0.4, "row_clip": 0.5}),
    },
    "projected-gradient": {
        "default": Way({"row_clip": 0.5}, kinds=KINDS),
        "mean": Way({"rounds": 2, "centre": "mean", "max_ratings": 5, "row_clip": 0.5}),
        "given step": Way({"rounds": 3, "rank": 2, "step_size": 1.0, "max_ratings": None, "row_clip": 1.0}),
    },
}


@dataclass(frozen=True, eq=False)
class Case:
    """One way to use a method on one kind of feedback."""

    name: str
    label: str
    kind: str
    way: Way

    def __str__(self) -> str:
        return f"{self.name}, {self.label}, {self.kind}"

    def method(self) -> PrivateMethod:
        return private_methods()[self.name](**self.way.settings)


@cache
def private_methods() -> dict[str, type[PrivateMethod]]:
    """Those of the registry, and so those of other packages that are installed."""
    return {
        name: method
        for name, method in METHODS.items()
        if isinstance(method, type) and issubclass(method, PrivateMethod)
    }


def _all() -> list[Case]:
    return [
        Case(name, label, kind, way)
        for name in private_methods()
        # A method that nobody listed here is run as it is.
        for label, way in WAYS.get(name, {"default": Way(reached=0.3, kinds=KINDS)}).items()
        for kind in way.kinds
    ]


def refusal(case: Case) -> str | None:
    """What the method says about feedback that it cannot learn from, before anything is asked."""
    data, budget = hostile(case.kind), LARGE
    facts = Facts(data.n_items, data.scale, budget, budget.mu)
    try:
        _ = ProtocolRun(case.method().public_half, case.method().settings, facts, 0).query
    except RatingsInvalid as error:
        return str(error)
    return None


@cache
def hostile(kind: str, n_items: int = 12) -> Ratings:
    """Users with all items, one, none; ratings at one end, at both ends, in between; and some ordinary ones."""
    rng = np.random.default_rng(3)
    n = 24
    counts = rng.integers(1, n_items + 1, n)
    counts[:6] = n_items, 1, 0, n_items, n_items, 1
    ends = [[5.0, 5.0], [1.0, 1.0], [1.0, 1.0], [1.0, 5.0], [1.0, 1.0], [5.0, 5.0]]
    values = [
        np.resize(ends[user], count) if user < 6 else rng.uniform(1, 5, count)
        for user, count in enumerate(counts)
    ]
    return Ratings.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([np.sort(rng.choice(n_items, count, replace=False)) for count in counts]),
        np.concatenate(values) if kind == "explicit" else np.ones(counts.sum()),
        catalogue=np.arange(n_items),
        rating_range=(1.0, 5.0) if kind == "explicit" else None,
    )


@cache
def town(kind: str) -> Ratings:
    """A small market with users who rated nothing and an item that nobody rated."""
    some = synthetic.market(600, 60, 9_000, rng=0)
    some = some.keep((some.items != 7) & ((kind == "explicit") | (some.values >= 3.5)))
    return Ratings.from_arrays(
        np.concatenate([[0, 0], some.indptr[1:], [some.indptr[-1]] * 3]),
        some.items,
        some.values if kind == "explicit" else np.ones(some.n_ratings),
        catalogue=some.catalogue,
        rating_range=some.rating_range if kind == "explicit" else None,
    )


@cache
def city(kind: str) -> Ratings:
    """Large enough for work to be shared between threads."""
    some = synthetic.market(2_000, 200, 80_000, rng=0)
    if kind == "explicit":
        return some
    return Ratings.from_arrays(
        some.indptr, some.items, np.ones(some.n_ratings), catalogue=some.catalogue, rating_range=None
    )


_SAID = {case: refusal(case) for case in _all()}
REFUSED = {case: said for case, said in _SAID.items() if said is not None}
CASES = [case for case in _SAID if case not in REFUSED]
