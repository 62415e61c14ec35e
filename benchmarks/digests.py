"""Digests of models of every method with a fixed noise key: did a change that must change nothing change nothing?

    python benchmarks/digests.py                 # compare with what is stored
    python benchmarks/digests.py --write         # store what comes out now

One digest covers arrays, recommendations for a newcomer, and every release with its cost. They are those of one kind of
processor: linear algebra differs in the last bits from one to the next, so compare runs of one machine. Models with a
fixed noise key are not private.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from discreet import Budget, DiscreetError, Model, Ratings, devices
from discreet.data.synthetic import market
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.registry import METHODS
from discreet.model.item_weights import ItemWeights
from discreet.privacy.gaussian.noise import Noise
from tests.methods.prototypes import runs as prototypes
from tests.silos.worlds import Run, agree, world

STORED = Path(__file__).parent / "results" / "model-digests.json"

CASES: dict[str, list[dict[str, Any]]] = {
    "budgeted": [{}, {"rank": 4, "rounds": 3}],
    "als": [{"rank": 4, "rounds": 4}],
    "dpals": [
        {"rank": 4, "max_ratings": 10},
        {
            "rank": 4,
            "max_ratings": 10,
            "sampling": "uniform",
            "start": "spectral",
            "gravity": 0.1,
            "frequent_share": 0.7,
        },
        {
            "rank": 3,
            "max_ratings": 8,
            "sampling": "weights",
            "orthonormal": True,
            "split_users": True,
            "centre": "middle",
        },
    ],
    "frank-wolfe": [
        {"rounds": 4, "max_ratings": 15},
        {"rounds": 3, "max_ratings": 15, "eigenvector": "oja", "centre": "mean"},
        {"rounds": 3, "skip_noise": False},
    ],
    "svd": [{"rank": 4}, {"rank": 3, "denoise": False}],
    "projected-gradient": [{"rounds": 3, "rank": 4}, {"rounds": 3, "rank": 4, "centre": "mean"}],
    "global-mean": [{}],
    "user-mean": [{}],
    "item-mean": [{}],
    "popularity": [{}],
    "ease": [{}, {"head": 20, "keep_sums": False}],
}


def digest(*parts: Any) -> str:
    """Of arrays and JSON values, in order."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(
            np.ascontiguousarray(part).tobytes()
            if isinstance(part, np.ndarray)
            else json.dumps(part).encode()
        )
        whole.update(b"|")
    return whole.hexdigest()[:24]


def of_model(model: Model, third: int) -> dict[str, str]:
    """Arrays, recommendations for somebody new, and releases."""
    side, ids = model.item_side, model.catalogue.ids.tolist()
    history = {ids[3]: 5.0, ids[17]: 2.0, ids[third]: 4.0}
    shown = model.recommend(history if side.scale.explicit else list(history), n=10)
    arrays = (
        (side.base, side.starts, side.others, side.weights)
        if isinstance(side, ItemWeights)
        else (side.offsets, side.factors, float(side.centre))
    )
    return {
        "arrays": digest(*arrays),
        "recommend": digest([[str(entry.item), entry.score] for entry in shown]),
        "releases": digest([[release.name, release.mu] for release in model.statement.releases]),
    }


def central() -> Iterator[tuple[str, dict[str, str]]]:
    """Every registered method on ratings and on clicks."""
    ratings = market(1_500, 60, 20_000, rng=0)
    worlds = {"ratings": ratings, "clicks": _clicks(ratings)}
    for kind, world_ in worlds.items():
        for name, cases in CASES.items():
            for settings in cases:
                key = f"central {kind} {name} {json.dumps(settings, sort_keys=True)}"
                try:
                    yield key, of_model(_fit(name, settings, world_), 40)
                except DiscreetError as refusal:
                    yield key, {"refused": type(refusal).__name__}
    preset = METHODS["dpals"].from_preset("ml-10m-eps-20")  # type: ignore[union-attr]
    noise = Noise.fixed_key_not_private(b"digest")
    fitted = preset.fit(ratings, Budget(25.0, 1e-5), rng=3, noise=noise)
    yield "central ratings dpals preset ml-10m-eps-20", of_model(fitted.model_, 40)


def silos() -> Iterator[tuple[str, dict[str, str]]]:
    """Budgeted ALS over three silos, noise in shares and by the server."""
    for noise in ("shares", "server"):
        ratings = world()
        with tempfile.TemporaryDirectory() as folder:
            run = Run(Path(folder), ratings, agree(ratings, 3, noise=noise))
            yield f"silos ratings {noise}", of_model(run.finish(), 20)
            run.close()


def of_prototypes() -> Iterator[tuple[str, dict[str, str]]]:
    """Both clusterings; factors, users' vectors, predictions."""
    lloyd = PrototypeSettings(
        prototypes=4, users=200, dimension=3, support=6, clustering="lloyd", unrated="zero", delta=1e-5
    )
    for name, agreement in {
        "swap": prototypes.agree(3),
        "lloyd": prototypes.agree(3, settings=lloyd),
    }.items():
        with tempfile.TemporaryDirectory() as folder:
            run = prototypes.Run(Path(folder), agreement)
            run.send(*agreement.roster)
            side = run.coordinator.model(prototypes.CATALOGUE).item_side
            users = prototypes.part("silo-07")
            vectors = side.fold_in(users.indptr, users.items, users.values)
            owners = np.repeat(np.arange(users.n_users), np.diff(users.indptr))
            yield (
                f"prototypes {name}",
                {
                    "arrays": digest(side.factors),
                    "vectors": digest(vectors[:, 1:]),
                    "predict": digest(side.predict(vectors, owners, users.items)),
                },
            )
            run.close()


def of_devices() -> Iterator[tuple[str, dict[str, str]]]:
    """Offsets alone, and with factors."""
    ratings = market(6_000, 24, 40_000, rng=1)
    for settings in ({}, {"factor_rounds": 3, "passes": 2}):
        fitted = devices.fit(ratings, 6.0, goal="rate", **settings, rng=4, fixed_key_not_private=5)
        side = fitted.model_.item_side
        coefficients = side.fold_in(ratings.indptr, ratings.items, ratings.values)
        pairs = np.arange(100), np.arange(100) % 24
        yield (
            f"devices {json.dumps(settings, sort_keys=True)}",
            {
                "arrays": digest(side.offsets, side.factors, float(side.centre)),
                "predict": digest(side.predict(coefficients, *pairs)),
                "releases": digest(
                    [[release.name, release.epsilon] for release in fitted.model_.statement.releases]
                ),
            },
        )


def _clicks(ratings: Ratings) -> Ratings:
    return Ratings.from_arrays(
        ratings.indptr,
        ratings.items,
        np.ones_like(ratings.values),
        catalogue=ratings.catalogue,
        rating_range=None,
    )


def _fit(name: str, settings: dict[str, Any], ratings: Ratings) -> Model:
    method: Any = METHODS[name](**settings)
    if name == "als":
        return method.fit(ratings, rng=3).model_
    if name == "user-mean":
        return method.fit(ratings).model_
    noise = Noise.fixed_key_not_private(b"digest")
    return method.fit(ratings, Budget(8.0, 1e-5), rng=3, noise=noise).model_


def main() -> None:
    """Compare or store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="store what comes out now")
    arguments = parser.parse_args()
    found = {key: value for part in (central, silos, of_prototypes, of_devices) for key, value in part()}
    if arguments.write:
        STORED.write_text(json.dumps(found, indent=1) + "\n")
        print(f"{len(found)} digests stored in {STORED}")
        return
    stored = json.loads(STORED.read_text())
    changed = [key for key in sorted(stored.keys() | found.keys()) if stored.get(key) != found.get(key)]
    for key in changed:
        print("changed:", key)
    print(f"{len(found)} models, {len(changed)} changed")
    raise SystemExit(bool(changed))


if __name__ == "__main__":
    main()
