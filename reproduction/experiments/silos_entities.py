"""Figure 5 of the prototypes paper: error of the factorisation for different numbers of silos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.methods.prototypes.public.server import factorise
from discreet.methods.prototypes.settings import FactorSettings
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Finding, Result, Table, columns_of
from reproduction.scoring import Draws
from reproduction.silos.methods import USER_MEAN, levels, private_messages, score, with_side
from reproduction.silos.worlds import SILOS, poisson_world

SWAP, LEVEL = "prototypes, local swap (the paper's)", "prototypes, own level (the default)"
_EPSILON = 0.5

Errors = Mapping[tuple[str, int, int], Draws]


def run(context: Context) -> Result:
    items = context.pick(quick=40, full=200)
    world = poisson_world(context, context.pick(quick=2_000, full=20_000), items)
    silos = context.pick(quick=(1, SILOS), full=(1, 2, 5, SILOS))
    rounds = context.pick(quick=(1, 5), full=(1, 2, 3, 5, 10))
    k, rank = context.pick(quick=(5, 3), full=(20, 20))
    common = {"users": world.order, "minimum_users": 1, "entry_clip": 8.0}
    ways: dict[str, dict[str, Any]] = {
        SWAP: {
            **common, "clustering": "swap", "unrated": "zero", "shrink": False, "prototypes": k, "support": "all",
            "row_clip": 80.0, "row_sum": 1_000.0, "max_ratings": items,
        },
        LEVEL: common,
    }  # fmt: skip
    found: dict[tuple[str, int, int], Draws] = {}
    for number, (name, settings) in enumerate(ways.items()):
        messages = [
            private_messages(world.parts, _EPSILON, settings) for _ in range(context.number_of_draws())
        ]
        for count in silos:
            for passes in rounds:
                chosen = FactorSettings(rank=rank, rounds=passes)
                errors = [
                    score(world, with_side(factorise(sent[:count], chosen, context.seed))).test
                    for sent in messages
                    if sent
                ]
                found[name, count, passes] = Draws(tuple(errors))
        context.report("ways", number + 1, len(ways))
    free = levels(world)[USER_MEAN].test
    columns = columns_of("method | silos | rounds | test RMSE .4 | spread .4")
    rows = [
        {"method": name, "silos": count, "rounds": passes, "test RMSE": draws.mean, "spread": draws.spread}
        for (name, count, passes), draws in found.items()
    ]
    notes = (
        f"Epsilon {_EPSILON:g}, k {k} and l {rank} for the paper's; the paper names none for this figure. Rounds are "
        "passes of the server's factorisation, of which the default has none.",
        f"The user's own mean, which is free, has {free:.3f}.",
    )
    data = [f"{world.name}, ten silos of equal size, of which the server hears some."]
    return Result(
        [Table("Test error by silos and rounds", columns, rows)], judge(found, free), _draw(found, free), data, notes
    )  # fmt: skip


def judge(found: Errors, free: float) -> list[Finding]:
    few, many = min(count for _, count, _ in found), max(count for _, count, _ in found)
    last = max(passes for _, _, passes in found)
    one, all_ = found[SWAP, few, last].mean, found[SWAP, many, last].mean
    ours = {count: found[LEVEL, count, last].mean for _, count, _ in found}
    return [
        Finding(
            "The more silos, the better the factorisation converges (figure 5).",
            f"{one:.3f} with {few} and {all_:.3f} with {many} silos after {last} rounds.",
            all_ < one,
        ),
        Finding(
            "(ours) The default is no worse than the user's own mean with any number of silos.",
            ", ".join(f"{error:.3f} ({count})" for count, error in ours.items()) + f" against {free:.3f}.",
            all(error <= free for error in ours.values()),
        ),
    ]


def _draw(found: Errors, free: float) -> plotting.Figure:
    counts = sorted({count for _, count, _ in found})
    rounds = sorted({passes for _, _, passes in found})
    figure, (against_rounds, against_silos) = plotting.panels(2, width=6.2, height=4.0)
    for number, count in enumerate(counts):
        draws = [found[SWAP, count, passes] for passes in rounds]
        plotting.curve(
            against_rounds, rounds, draws,
            label=f"{count} silos", number=number,
        )  # fmt: skip
    for number, name in enumerate((SWAP, LEVEL)):
        draws = [found[name, count, rounds[-1]] for count in counts]
        plotting.curve(
            against_silos, counts, draws,
            label=name, number=number,
        )  # fmt: skip
    plotting.baseline(against_silos, free, USER_MEAN, linestyle="--")
    against_rounds.set(title="Does it converge better with more silos?", xlabel="rounds", ylabel="test RMSE")
    against_silos.set(title="How many silos?", xlabel="silos", ylabel="test RMSE")
    for axes in (against_rounds, against_silos):
        plotting.label_lines(axes)
    return figure


EXPERIMENT = Experiment(
    name="silos-entities",
    title="Silos: how many of them",
    source="Federating Recommendations Using Differentially Private Prototypes (2020), figure 5",
    shows="Test error of what the server learns from one silo and from more, against the rounds of its factorisation.",
    paper_found="The more silos there are, the better the factorisation converges.",
    run=run,
)
