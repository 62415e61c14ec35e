"""Figures 3 and 4 of the prototypes paper: the k-means objective against epsilon and against k."""

from __future__ import annotations

from collections.abc import Mapping

from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws
from reproduction.silos.methods import k_means_message, mean_objective, private_prototypes
from reproduction.silos.worlds import poisson_world

_CAP = 8.0
_SHARED = {"support": "all", "entry_clip": _CAP, "row_clip": 80.0, "row_sum": 1_000.0}
_ROUNDS = 8
_ALIKE = 1.01
"""A ratio that still counts as the same."""

Objectives = Mapping[tuple[int, float], Draws]


def run(context: Context) -> Result:
    items = context.pick(quick=40, full=200)
    world = poisson_world(context, context.pick(quick=2_000, full=20_000), items)
    epsilons = context.pick(quick=(0.1, 1.0, 10.0), full=(0.01, 0.1, 0.5, 1.0, 5.0, 10.0))
    ks = context.pick(quick=(5, 20), full=(5, 10, 20, 50))
    exact = {
        k: mean_objective(
            world.train, k_means_message(world.train, k, context.seed_for("k-means", k), rounds=_ROUNDS), _CAP
        )
        for k in ks
    }
    found, distinct = {}, {}
    jobs = [(k, epsilon) for k in ks for epsilon in epsilons]
    for number, (k, epsilon) in enumerate(jobs):
        messages = [
            private_prototypes(world.train, k, epsilon, max_ratings=items, **_SHARED)
            for _ in range(context.number_of_draws())
        ]
        found[k, epsilon] = Draws(tuple(mean_objective(world.train, message, _CAP) for message in messages))
        distinct[k, epsilon] = sum(len(message.values) for message in messages) / len(messages)
        context.report("clusterings", number + 1, len(jobs))
    columns = columns_of(
        "k | epsilon | objective .1 | spread .1 | k-means (not private) .1 | ratio .3 | prototypes .1"
    )
    rows = [
        {
            "k": k, "epsilon": epsilon, "objective": draws.mean, "spread": draws.spread,
            "k-means (not private)": exact[k], "ratio": draws.mean / exact[k], "prototypes": distinct[k, epsilon],
        }
        for (k, epsilon), draws in found.items()
    ]  # fmt: skip
    notes = (
        "Mean squared distance of a user's counts, clipped at 8, to the nearest prototype. The paper's clustering with "
        "constants that let it find something (preset swap, values as they come); with the printed ones only one cell "
        "is left.",
        "The caption of figure 3 says that the objective approaches that of k-means as epsilon decreases, its text "
        "that it does as epsilon increases; the text is held against the numbers.",
    )
    data = [f"{world.name}, all in one place. The paper has 100,000 users and 500 items."]
    return Result(
        [Table("k-means objective", columns, rows)], judge(found, exact), _draw(found, exact), data, notes
    )


def judge(found: Objectives, exact: Mapping[int, float]) -> list[Finding]:
    ks, epsilons = sorted({k for k, _ in found}), sorted({epsilon for _, epsilon in found})
    least, most = epsilons[0], epsilons[-1]
    falls = {k: found[k, most].mean / found[k, least].mean for k in ks}
    above = {k: found[k, most].mean / exact[k] for k in ks}
    gain = found[ks[-1], most].mean / min(found[k, most].mean for k in ks[:-1])
    return [
        Finding(
            "The objective falls as epsilon rises (figures 3 and 4a).",
            f"From epsilon {least:g} to {most:g} to "
            + ", ".join(f"{ratio:.3f} of it (k {k})" for k, ratio in falls.items()) + ".",
            all(ratio < 1.0 / _ALIKE for ratio in falls.values()),
        ),
        Finding(
            "It approaches the objective of k-means without privacy (figure 3).",
            f"At epsilon {most:g} " + ", ".join(f"{ratio:.3f} times (k {k})" for k, ratio in above.items()) + ".",
            all(ratio <= _ALIKE for ratio in above.values()),
        ),
        Finding(
            "A large k does not necessarily do better (figure 4b).",
            f"k {ks[-1]} has {gain:.3f} times the objective of the best smaller k at epsilon {most:g}.",
            gain >= 1.0 / _ALIKE,
        ),
    ]  # fmt: skip


def _draw(found: Objectives, exact: Mapping[int, float]) -> plotting.Figure:
    ks, epsilons = sorted({k for k, _ in found}), sorted({epsilon for _, epsilon in found})
    figure, (against_epsilon, against_k) = plotting.panels(2, width=6.2, height=4.0)
    for number, k in enumerate(ks):
        draws = [found[k, epsilon] for epsilon in epsilons]
        plotting.curve(
            against_epsilon, epsilons, draws,
            label=f"k {k}", number=number,
        )  # fmt: skip
    plotting.baseline(against_epsilon, exact[ks[-1]], f"k-means, k {ks[-1]}", linestyle="--")
    plotting.epsilon_axis(against_epsilon, epsilons)
    against_epsilon.set(title="What does privacy cost a clustering?", ylabel="mean squared distance")
    for number, epsilon in enumerate(epsilons):
        draws = [found[k, epsilon] for k in ks]
        plotting.curve(
            against_k, ks, draws,
            label=f"epsilon {epsilon:g}", number=number,
        )  # fmt: skip
    plotting.curve(
        against_k, ks, [exact[k] for k in ks], [0.0 for _ in ks], label="k-means (not private)",
        number=len(epsilons), linestyle="--",
    )  # fmt: skip
    against_k.set(title="Do more prototypes help?", xlabel="k, prototypes", ylabel="mean squared distance")
    for axes in (against_epsilon, against_k):
        plotting.label_lines(axes)
    return figure


EXPERIMENT = Experiment(
    name="silos-objective",
    title="Silos: the k-means objective",
    source="Federating Recommendations Using Differentially Private Prototypes (2020), figures 3 and 4",
    shows="How far users are from the nearest private prototype, against epsilon and the number of prototypes, beside "
    "k-means without privacy.",
    paper_found="The objective falls toward that of k-means as epsilon rises; beyond some k it stalls, as centres are "
    "repeated.",
    run=run,
)
