"""Figures 1, 6 and 7 of the prototypes paper: error on Poisson counts against l, k and epsilon."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.result import Finding, Result
from reproduction.silos.outcome import NOTES, beyond_the_paper, draw, level, more, table
from reproduction.silos.runs import CENTRAL, K_MEANS, RANDOM, Design, Line, run_all
from reproduction.silos.worlds import poisson_world

SWAP, SHRUNK = "prototypes, local swap (the paper's)", "prototypes, local swap, shrunk"
LLOYD = "prototypes, Lloyd, shrunk"
_SHARED = {"support": "all", "entry_clip": 8.0, "row_clip": 80.0, "row_sum": 1_000.0}
_NO_WORSE = 1.01
"""A ratio that still counts as no worse."""


def run(context: Context) -> Result:
    items = context.pick(quick=60, full=200)
    shared = {**_SHARED, "max_ratings": items}
    design = Design(
        epsilons=context.pick(quick=(0.01, 0.5, 10.0), full=(0.01, 0.1, 0.5, 1.0, 10.0)),
        ks=context.pick(quick=(5, 20), full=(10, 50, 200)),
        ranks=context.pick(quick=(5,), full=(10, 20, 60)),
        epsilon=0.5,
        k=context.pick(quick=20, full=50),
        rank=context.pick(quick=5, full=20),
        k_epsilons=(0.01, 0.5),
        prototypes={
            SWAP: {**shared, "clustering": "swap", "shrink": False},
            SHRUNK: {**shared, "clustering": "swap"},
            LLOYD: {**shared, "clustering": "lloyd", "unrated": "zero"},
        },
        draws=context.number_of_draws(),
        rounds=context.pick(quick=5, full=10),
    )
    world = poisson_world(context, context.pick(quick=2_000, full=20_000), items)
    lines = run_all(world, design, context.seed_for("silos"), context.report, "methods")
    tables = [table(f"{world.name}, ten silos", lines)]
    data = [
        f"{world.name}, ten silos of equal size, every entry observed; log-rates of rank 100 with standard deviation 1 "
        "(the paper's 10 gives rates that no count can be drawn from). Counts above 8 are clipped in private "
        "training. The paper has 100,000 users and 500 items."
    ]
    return Result(
        tables, judge(lines, design), draw(lines, design, world.name), data, NOTES, more(lines, design)
    )


def judge(lines: Sequence[Line], design: Design) -> list[Finding]:
    k, rank, least, most = max(design.ks), design.rank, min(design.k_epsilons), max(design.k_epsilons)
    known = {name: level(lines, name, "test", k=k, rank=rank) for name in (K_MEANS, RANDOM)} | {
        CENTRAL: level(lines, CENTRAL, "test", rank=rank)
    }
    at_most = {name: level(lines, name, "test", k=k, rank=rank, epsilon=most) for name in design.prototypes}
    ratios = {
        name: level(lines, name, "test", k=k, rank=rank, epsilon=least) / at_most[name]
        for name in design.prototypes
    }
    chance = {name: level(lines, name, "rank", k=k, rank=rank, epsilon=most) for name in design.prototypes}
    swap = [line for line in lines if line.point.method == SWAP and line.point.k == k and line.distinct]
    distinct = {line.point.epsilon: line.distinct or 0.0 for line in swap}
    falls = f"the error gets no worse as epsilon falls from {most:g} to {least:g}"
    others = {name: ratio for name, ratio in ratios.items() if name != SWAP}
    return [
        Finding(
            "Matrix factorisation of all data has the lowest error, then random users (figure 1a, 1b).",
            ", ".join(f"{name} {value:.3f}" for name, value in known.items()) + f" (k {k}, l {rank}).",
            known[CENTRAL] < known[RANDOM] < known[K_MEANS],
        ),
        Finding(
            f"For large k {falls} (figure 1d).",
            f"{ratios[SWAP]:.3f} times (k {k}). The mean percentile rank at epsilon {most:g} is {chance[SWAP]:.3f}, "
            "where 0.5 is chance.",
            ratios[SWAP] <= _NO_WORSE,
        ),
        Finding(
            f"(ours) For large k {falls}, where prototypes are shrunk.",
            ", ".join(f"{ratio:.3f} times ({name})" for name, ratio in others.items()) + f" (k {k}).",
            all(ratio <= _NO_WORSE for ratio in others.values()),
        ),
        Finding(
            "For large k private prototypes are better than k-means without privacy (figure 1d).",
            ", ".join(f"{value:.3f} ({name})" for name, value in at_most.items())
            + f" against {known[K_MEANS]:.3f} (k {k}, epsilon {most:g}).",
            at_most[SWAP] < known[K_MEANS],
        ),
        Finding(
            "For large k the private algorithm repeats centres instead of overfitting (figure 4).",
            f"Of {k} prototypes with local swap, different ones: "
            + ", ".join(f"{value:.1f} (epsilon {e:g})" for e, value in distinct.items() if e is not None)
            + ". What is repeated is sent once.",
            all(value < k for value in distinct.values()),
        ),
        *beyond_the_paper(lines, design),
    ]


EXPERIMENT = Experiment(
    name="silos-poisson",
    title="Silos: Poisson counts",
    source="Federating Recommendations Using Differentially Private Prototypes (2020), figures 1, 6 and 7",
    shows="RMSE and mean percentile rank against epsilon, number of prototypes and latent dimension, for each silo "
    "alone, prototypes with and without privacy, federated ALS and all data in one place, beside what is free.",
    paper_found="All ways within little of each other; epsilon 0.01 about as good as 0.5 for large k; private "
    "prototypes better than k-means for large k. What is free is not shown.",
    run=run,
)
