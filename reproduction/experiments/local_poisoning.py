"""What dishonest devices can do: the same round with 0.1, 1 and 5 % of them pushing one item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.data import synthetic
from discreet.devices.device.question import DEVICE_ID_BYTES, Question
from discreet.devices.estimator import Estimator
from discreet.privacy.local.rotated import answers
from discreet.privacy.local.rotation import packed_signs, places
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.local.crowd import Crowd
from reproduction.local.poisoning import SHARES, poisoning_curve
from reproduction.output import plotting
from reproduction.result import Column, Finding, Result, Table
from reproduction.scoring import Draws

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

Ids = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Attack:
    """One round at one epsilon with one share of dishonest devices."""

    epsilon: float
    share: float
    expected: float
    measured: float
    noise: float
    rank_before: float
    rank_after: float
    items: int
    spread: float = 0.0


def run(context: Context) -> Result:
    """Three shares at three budgets, several rounds each."""
    users, items = context.pick(quick=(4_000, 500), full=(40_000, 2_000))
    epsilons = context.pick(quick=(1.0, 4.0), full=(0.5, 1.0, 4.0))
    draws = context.number_of_draws(full=5)
    ratings = synthetic.market(users, items, 28 * users, rng=context.seed_for("poisoning"))
    crowd, rng = Crowd.of(ratings), context.rng("poisoning", "public")
    attacks = []
    for number, epsilon in enumerate(epsilons):
        attacks += [measure(crowd, epsilon, share, draws, rng) for share in SHARES]
        context.report("budgets", number + 1, len(epsilons))
    columns = (
        Column("epsilon"),
        Column("dishonest", "%", 1),
        Column("shift, formula"),
        Column("shift, measured"),
        Column("its spread"),
        Column("noise of the estimate"),
        Column("rank without", digits=0),
        Column("rank with", digits=0),
    )
    notes = (
        "Which items people rate, one round; dishonest devices push the least rated item, honest ones answer as they "
        f"should. Mean over {draws} rounds; the shift is against the same round with honest devices in their place.",
        "No model is trained here, so no user mean stands beside these numbers.",
        "The shift does not shrink with the number of devices, the noise does: with more devices a smaller share "
        "stands out. Nothing in the local model can tell a lie from an unlikely honest answer.",
    )
    table = Table("One item pushed by dishonest devices", columns, [tabulate(one) for one in attacks])
    data = [f"A synthetic market ({users:,} users, {items:,} items, {28 * users:,} ratings)."]
    return Result([table], judge(attacks), _draw(attacks, users), data=data, notes=notes)


def measure(crowd: Crowd, epsilon: float, share: float, draws: int, rng: np.random.Generator) -> Attack:
    """Shift and rank of the least rated item."""
    target = int(np.argmin(np.bincount(crowd.items, minlength=crowd.n_items)))
    liars = round(share * crowd.size)
    shifts, before, after = [], [], []
    for _ in range(draws):
        question = Question(
            "poisoning", 1, "popularity", epsilon, rng.bytes(32).hex(), 16, crowd.n_items, 0, (1.0, 5.0)
        )
        ids = rng.integers(0, 256, (crowd.size, DEVICE_ID_BYTES), dtype=np.uint8)
        honest = answers(question, (crowd.indptr, crowd.items, crowd.values), ids)
        lied = honest.copy()
        chosen = rng.choice(crowd.size, liars, replace=False)
        lied[chosen] = pushing(question, ids[chosen], target)
        found = []
        for bits in (honest, lied):
            estimator = Estimator(question)
            estimator.add(ids, bits)
            found.append(estimator.estimate())
        shifts.append(found[1][target] - found[0][target])
        before.append(1 + int(np.count_nonzero(found[0] > found[0][target])))
        after.append(1 + int(np.count_nonzero(found[1] > found[1][target])))
    (curve,) = poisoning_curve(epsilon, crowd.size, [share])
    return Attack(
        epsilon,
        share,
        curve.shift,
        float(np.mean(shifts)),
        curve.noise,
        float(np.mean(before)),
        float(np.mean(after)),
        crowd.n_items,
        Draws(tuple(map(float, shifts))).spread,
    )


def pushing(question: Question, ids: Ids, target: int) -> npt.NDArray[np.uint8]:
    """For each device the bit that moves the target's estimate up."""
    rotation, coordinate = places(question, ids)
    flipped = np.unpackbits(packed_signs(question), axis=1)[rotation, target]
    odd = np.bitwise_count(coordinate.astype(np.uint64) & np.uint64(target)) & 1
    return np.asarray(1 - (flipped ^ odd.astype(np.uint8)), dtype=np.uint8)


def tabulate(one: Attack) -> dict[str, Any]:
    """One row."""
    return {
        "epsilon": one.epsilon,
        "dishonest": 100 * one.share,
        "shift, formula": one.expected,
        "shift, measured": one.measured,
        "its spread": one.spread,
        "noise of the estimate": one.noise,
        "rank without": one.rank_before,
        "rank with": one.rank_after,
    }


def judge(attacks: Sequence[Attack]) -> list[Finding]:
    """The formula, and how few it takes."""
    off = [(one.measured - one.expected) / (one.noise * np.sqrt(one.share)) for one in attacks]
    first = [one for one in attacks if one.rank_after < 0.01 * one.items]
    fewest = min(first, key=lambda one: one.share, default=None)
    return [
        Finding(
            "(ours) The influence of dishonest devices equals the formula.",
            f"Measured less formula, in standard deviations of one round: {min(off):+.1f} to {max(off):+.1f}.",
            all(abs(value) < 4.0 for value in off),
        ),
        Finding(
            "(ours) One dishonest device in a thousand cannot bring the least rated item among the first 1 %.",
            "The item is among them with no share that was tried."
            if fewest is None
            else f"{fewest.share:.1%} are enough at epsilon {fewest.epsilon:g}: from place "
            f"{fewest.rank_before:,.0f} to {fewest.rank_after:,.0f} of {fewest.items:,}.",
            fewest is None or fewest.share > 0.001,
        ),
    ]


def _draw(attacks: Sequence[Attack], users: int) -> Figure:
    figure, (axes,) = plotting.panels(width=6.4, height=4.2)
    for number, epsilon in enumerate(dict.fromkeys(one.epsilon for one in attacks)):
        here = [one for one in attacks if one.epsilon == epsilon]
        shares = [100 * one.share for one in here]
        plotting.curve(
            axes,
            shares,
            [one.measured for one in here],
            [one.spread for one in here],
            label=f"epsilon {epsilon:g}, measured",
            number=number,
        )
        axes.plot(
            shares, [one.expected for one in here], color=plotting.PUBLISHED, linestyle=":", linewidth=1.0
        )
        plotting.baseline(axes, here[0].noise, f"epsilon {epsilon:g}, noise", number=number)
    plotting.log_axis(axes, "x")
    axes.set(
        title=f"How far do liars push an item? {users:,} devices (dotted: formula)",
        xlabel="dishonest devices, %",
        ylabel="shift of the estimate",
        yscale="log",
    )
    plotting.label_lines(axes)
    return figure


EXPERIMENT = Experiment(
    name="local-poisoning",
    title="Local: dishonest devices",
    source="Ours",
    shows="How far 0.1, 1 and 5 % dishonest devices move one item's estimate, measured and by formula.",
    paper_found="The paper does not look at dishonest devices.",
    run=run,
)
