"""Table 3 of the local paper: bytes over the wire in one round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.local.rotated import Traffic, rotated_traffic, traffic
from reproduction.local.world import free_levels, worlds
from reproduction.result import Finding, Result, Table, columns_of

PAPER = {"MovieLens 20M": ([144], 26_744, 15, 2_700), "LibimSeTi": ([101], 26_509, 20, 2_700)}
"""Ratings of a usual user, items, rank and q, as published."""
PUBLISHED = {
    ("MovieLens 20M", "Hua et al."): (8_000, 1.5e6),
    ("LibimSeTi", "Hua et al."): (8_000, 2.0e6),
    ("MovieLens 20M", "private GD-DR, matrix from a seed"): (0.125, 0.15e6),
    ("LibimSeTi", "private GD-DR, matrix from a seed"): (0.125, 0.2e6),
}
"""Bytes up and down, as the text gives them."""
Sizes = Mapping[str, Sequence[Traffic]]


def run(context: Context) -> Result:
    sizes: dict[str, list[Traffic]] = {}
    for name, (counts, items, rank, q) in PAPER.items():
        sizes[name] = [*traffic(counts, items, rank, q), rotated_traffic(items)]
    found = worlds(context)
    for world in found:
        counts = np.diff(world.data.ratings.indptr)[:5_000].tolist()
        items = world.train.n_items
        sizes[world.name] = [*traffic(counts, items, world.rank, world.dimensions), rotated_traffic(items)]
    columns = columns_of(
        "data | scheme | up, told [bits] .0 | up, report [bytes] .0 | down [bytes] .0 | "
        "down, once [bytes] .0 | published up [bytes] | published down [bytes]"
    )
    rows = []
    for data, schemes in sizes.items():
        for one in schemes:
            up, down = PUBLISHED.get((data, one.scheme), (None, None))
            rows.append(
                {
                    "data": data,
                    "scheme": one.scheme,
                    "up, told": one.information,
                    "up, report": one.up,
                    "down": one.down,
                    "down, once": one.once,
                    "published up": up,
                    "published down": down,
                }
            )
    notes = (
        "Sizes of messages as encoded: numbers in single precision, a report with task, round and pseudonym as JSON. "
        "Transport headers come on top.",
        "Algorithm 2 sends the random matrix to every device; both sides can also make it from a seed.",
        "q is 2,700 in the paper's experiments, a tenth of the items, not of the order of log(items).",
        "What is free on the device needs no message at all. RMSE: "
        + free_levels((w.name, w.user_mean, w.global_mean) for w in found)
        + ".",
    )
    return Result([Table("Bytes of one round", columns, rows)], judge(sizes), notes=notes)


def judge(sizes: Sizes) -> list[Finding]:
    mine = {(data, one.scheme): one for data, schemes in sizes.items() for one in schemes}
    off = [
        abs(value / published - 1)
        for key, pair in PUBLISHED.items()
        if not key[1].startswith("private")
        for value, published in zip((mine[key].up, mine[key].down), pair, strict=True)
    ]
    down = [abs(mine[key].down / pair[1] - 1) for key, pair in PUBLISHED.items()]
    once = mine["MovieLens 20M", "private GD-DR, matrix sent"].once
    film = mine["MovieLens 20M", "private GD-DR, matrix from a seed"]
    return [
        Finding(
            "Hua et al.: about 8 KB up; 1.5 MB (MovieLens) and 2 MB (LibimSeTi) down.",
            f"At most {max(off):.0%} off.",
            all(value < 0.25 for value in off),
        ),
        Finding(
            "Private GD-DR: 0.15 and 0.2 MB down.",
            f"At most {max(down):.0%} off.",
            all(value < 0.15 for value in down),
        ),
        Finding(
            "One bit from a device in a round.",
            f"One bit of what it knows; {film.up:.0f} bytes as a report that can be counted once.",
            film.information == 1.0,
        ),
        Finding(
            "Communication from the server is drastically lower than with Hua et al.",
            f"Not with the matrix sent as algorithm 2 says: {once / 1e6:.0f} MB once, as much as "
            f"{once / mine['MovieLens 20M', 'Hua et al.'].down:.0f} rounds of Hua et al.; with a seed it is.",
            once < 10 * mine["MovieLens 20M", "Hua et al."].down,
        ),
    ]


EXPERIMENT = Experiment(
    name="local-table-3",
    title="Local table 3: communication of one round",
    source="Privacy Enhanced Matrix Factorization with Local Differential Privacy (2018), table 3 and its text",
    shows="Bytes from a device to the server and back in one round, for each scheme, from messages as encoded.",
    paper_found="One bit up and 0.15 MB down for private GD-DR on MovieLens 20M (0.2 MB LibimSeTi); about 8 KB up and "
    "1.5 MB down (2 MB) for Hua et al.",
    run=run,
)
