"""Figures 1, 4 and 7 of the prototypes paper: error on Poisson counts against l, k and epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from discreet.experiments.context import Context
from discreet.experiments.experiment import Experiment
from discreet.experiments.result import Finding, Result
from discreet.experiments.silo_comparison import Line, compare
from discreet.experiments.silo_findings import beyond_the_paper
from discreet.experiments.silo_plan import CENTRAL, K_MEANS, RANDOM, Plan
from discreet.experiments.silo_tables import NOTES, against_table, draw, level, table
from discreet.experiments.silo_worlds import poisson_world

__all__ = ["EXPERIMENT"]

SWAP, LLOYD = "prototypes, local swap (the paper's)", "prototypes, Lloyd"
_SHARED = {"support": "all", "value_cap": 8.0, "row_norm": 80.0, "row_sum": 1_000.0}
_NO_WORSE = 1.01
"""A ratio that still counts as no worse."""


def run(context: Context) -> Result:
    """The grid, and in a full run its centre again with all 100,000 users."""
    items = context.pick(quick=60, full=500)
    users = context.pick(quick=2_000, full=20_000)
    shared = {**_SHARED, "items_per_user": items}
    plan = Plan(
        epsilons=context.pick(quick=(0.01, 0.5, 10.0), full=(0.01, 0.05, 0.1, 0.5, 1.0, 10.0)),
        ks=context.pick(quick=(5, 20), full=(10, 50, 200)),
        ranks=context.pick(quick=(5,), full=(10, 20, 40)),
        epsilon=0.5,
        k=context.pick(quick=20, full=50),
        rank=context.pick(quick=5, full=20),
        k_epsilons=(0.01, 0.5),
        prototypes={SWAP: {**shared, "clustering": "swap"}, LLOYD: {**shared, "clustering": "lloyd"}},
        draws=context.number_of_draws(quick=1, full=2),
        rounds=context.pick(quick=5, full=10),
    )
    world = poisson_world(context, users, items)
    lines = compare(world, plan, context.seed_for("silos"), context.report, "grid")
    tables = [table(f"{world.name}: everything", lines), against_table(lines, plan)]
    data = [
        f"{world.name}, ten silos of equal size, every entry observed; log-rates of rank 100 with standard deviation 1 "
        "(the paper's 10 gives rates that no count can be drawn from). Counts above 8 are clipped in private training."
    ]
    whole: list[Line] = []
    if not context.quick:
        world = poisson_world(context, 100_000, items)
        column = replace(
            plan,
            epsilons=(0.01, 0.5), ks=(plan.k,), ranks=(plan.rank,), draws=1, pooled=False,
        )  # fmt: skip
        whole = compare(world, column, context.seed_for("silos"), context.report, "all users")
        tables.append(table(f"{world.name}: the centre, one draw", whole, key="whole"))
        data.append(f"The centre once more in the paper's own size: {world.name}.")
    return Result(tables, judge(lines, plan, whole), draw(lines, plan), data, NOTES)


def judge(lines: Sequence[Line], plan: Plan, whole: Sequence[Line] = ()) -> list[Finding]:
    """Hold the errors against the paper's orderings and against what is free."""
    k, rank, least, most = max(plan.ks), plan.rank, min(plan.k_epsilons), max(plan.k_epsilons)
    sized = [(found, size) for found, size in ((lines, "grid"), (whole, "all 100,000 users")) if found]
    known = {name: level(lines, name, "test", k=k, rank=rank) for name in (K_MEANS, RANDOM)} | {
        CENTRAL: level(lines, CENTRAL, "test", rank=rank)
    }
    falls = [
        (
            f"{name}, {size}",
            _at_large_k(found, plan, name, "test", least),
            _at_large_k(found, plan, name, "test", most),
        )
        for found, size in sized
        for name in plan.prototypes
    ]
    chance = [_at_large_k(lines, plan, name, "rank", most) for name in plan.prototypes]
    private = {name: level(lines, name, "test", k=k, rank=rank, epsilon=most) for name in plan.prototypes}
    swap = [line for line in lines if line.point.method == SWAP and line.point.k == k and line.distinct]
    distinct = {line.point.epsilon: line.distinct or 0.0 for line in swap}
    return [
        Finding(
            "Matrix factorisation of all data has the lowest error, then random users (figure 1a, 1b).",
            ", ".join(f"{name} {value:.3f}" for name, value in known.items()) + f" (k {k}, l {rank}).",
            known[CENTRAL] < known[RANDOM] < known[K_MEANS],
        ),
        Finding(
            f"For large k the error gets no worse as epsilon falls from {most:g} to {least:g} (figure 1d).",
            ", ".join(f"{low / high:.3f} times ({name})" for name, low, high in falls)
            + f". The mean percentile rank at epsilon {most:g} is "
            + " and ".join(f"{value:.3f}" for value in chance)
            + ", where 0.5 is chance.",
            all(low <= _NO_WORSE * high for _, low, high in falls),
        ),
        Finding(
            "For large k private prototypes are better than k-means without privacy (figure 1d).",
            ", ".join(f"{value:.3f} ({name})" for name, value in private.items())
            + f" against {known[K_MEANS]:.3f} (k {k}, epsilon {most:g}).",
            all(value < known[K_MEANS] for value in private.values()),
        ),
        Finding(
            "For large k the private algorithm repeats centres instead of overfitting (figure 4).",
            f"Of {k} prototypes with local swap, different ones: "
            + ", ".join(f"{value:.1f} (epsilon {e:g})" for e, value in distinct.items() if e is not None)
            + ". What is repeated is sent once.",
            all(value < k for value in distinct.values()),
        ),
        *beyond_the_paper(lines, plan),
    ]


def _at_large_k(lines: Sequence[Line], plan: Plan, name: str, which: str, epsilon: float) -> float:
    """At the largest k that was run."""
    k = max(line.point.k or 0 for line in lines if line.point.method == name)
    return level(lines, name, which, k=k, rank=plan.rank, epsilon=epsilon)


EXPERIMENT = Experiment(
    name="silos-poisson",
    title="Silos: Poisson counts",
    source="Federating Recommendations Using Differentially Private Prototypes (2020), figures 1, 4, 6 and 7",
    shows="RMSE and mean percentile rank against epsilon, number of prototypes and latent dimension, for each silo "
    "alone, prototypes with and without privacy, federated ALS and all data in one place, beside what is free.",
    paper_found="All ways within little of each other; epsilon 0.01 about as good as 0.5 for large k; private "
    "prototypes better than k-means for large k. What is free is not shown.",
    minutes=(0.3, 8.0),
    run=run,
)
