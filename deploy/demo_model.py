"""A model to try the service and the page with: made-up ratings of made-up titles, learnt at epsilon 5.

    python deploy/demo_model.py model/

Nothing is downloaded and nobody's data is used; it takes about half a minute on two cores.
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np

import discreet
from discreet.data.synthetic import market

USERS, ITEMS, RATINGS, SEED = 6_000, 1_000, 250_000, 20
FIRST = (
    *("Amber", "Borrowed", "Crooked", "Distant", "Electric", "Forgotten", "Gentle", "Hollow", "Iron", "Jade"),
    *("Kindred", "Lonely", "Midnight", "Northern", "Open", "Paper", "Quiet", "Restless", "Silver", "Tangled"),
    *("Unlikely", "Velvet", "Wandering", "Yellow", "Zealous"),
)
SECOND = (
    *(
        "Afternoon",
        "Bridge",
        "Clockmaker",
        "Daughter",
        "Express",
        "Fields",
        "Garden",
        "Harbour",
        "Island",
        "Journey",
    ),
    *(
        "Kitchen",
        "Lighthouse",
        "Mirror",
        "Neighbour",
        "Orchard",
        "Piano",
        "Quarry",
        "River",
        "Storm",
        "Train",
    ),
    *("Umbrella", "Village", "Winter", "Year", "Zoo", "Ballad", "Compass", "Dream", "Echo", "Fire"),
    *("Ghost", "House", "Ink", "Joke", "Key", "Letter", "Moon", "Night", "Opera", "Promise"),
)


def main(folder: str) -> None:
    """Train and save."""
    ratings = market(USERS, ITEMS, RATINGS, rng=SEED, lift=1.5)
    assert ratings.catalogue is not None
    names = [f"The {first} {second}" for first, second in product(FIRST, SECOND)]
    ids = ratings.catalogue.ids.tolist()
    titles = dict(zip(ids, np.random.default_rng(SEED).permutation(names).tolist(), strict=True))
    titled = ratings.with_catalogue(discreet.Catalogue(ids, titles))
    discreet.EASE().fit(titled, budget=discreet.Budget(epsilon=5.0, delta=1e-6)).model_.save(folder)
    print(f"a demonstration model is in {folder}")


if __name__ == "__main__":
    main(sys.argv[1])
