"""The rotated mechanism against coordinate sampling: the same devices, the same epsilon, one bit each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.data import synthetic
from discreet.devices.device.question import DEVICE_ID_BYTES, Question
from discreet.devices.estimator import Estimator, noise_variance
from discreet.privacy.local.coin import Coin
from discreet.privacy.local.randomised_response import amplification, respond
from discreet.privacy.local.rotated import answers
from discreet.types import Floats
from reproduction.context import Context
from reproduction.experiment import Experiment
from reproduction.local.crowd import Crowd
from reproduction.output import plotting
from reproduction.result import Column, Finding, Result, Table
from reproduction.scoring import Draws

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

EPSILON = 1.0
WANTED = 50.0
"""How many times smaller the variance is meant to be."""
FROM = 2_000
"""From how many items on."""


@dataclass(frozen=True)
class Point:
    """One size of catalogue: mean squared errors of a coordinate, and signal over noise where scales differ."""

    items: int
    users: int
    rotated: float
    expected: float
    sampled: float
    rotated_signal: float
    sampled_signal: float
    raw_signal: float
    rotated_spread: float = 0.0
    sampled_spread: float = 0.0

    @property
    def ratio(self) -> float:
        """How many times smaller the rotated mechanism's squared error is, on the same unit vectors."""
        return self.sampled / self.rotated

    @property
    def raw_ratio(self) -> float:
        """The same in signal over noise, where coordinate sampling has the vectors as they are, 0 and 1."""
        return self.rotated_signal / self.raw_signal


def run(context: Context) -> Result:
    """One round at each size of catalogue."""
    sizes = context.pick(quick=(500, 2_000), full=(500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000))
    users = context.pick(quick=3_000, full=20_000)
    points = []
    for number, items in enumerate(sizes):
        points.append(measure(context, items, users, context.number_of_draws()))
        context.report("catalogues", number + 1, len(sizes))
    columns = (
        Column("items"),
        Column("users"),
        Column("squared error, rotated"),
        Column("formula"),
        Column("squared error, coordinate sampling"),
        Column("ratio", digits=0),
        Column("spread, rotated"),
        Column("spread, coordinate sampling"),
        Column("signal / noise, rotated"),
        Column("signal / noise, coordinate sampling"),
        Column("signal / noise, coordinate sampling of 0 and 1"),
        Column("ratio of signal / noise", digits=1),
    )
    rows = [
        dict(
            zip(
                (column.name for column in columns),
                (
                    point.items,
                    point.users,
                    point.rotated,
                    point.expected,
                    point.sampled,
                    point.ratio,
                    point.rotated_spread,
                    point.sampled_spread,
                    point.rotated_signal,
                    point.sampled_signal,
                    point.raw_signal,
                    point.raw_ratio,
                ),
                strict=True,
            )
        )
        for point in points
    ]
    data = [
        f"Synthetic markets of {users:,} users with 30 ratings each on average, and "
        f"{sizes[0]:,} to {sizes[-1]:,} items."
    ]
    notes = (
        f"Which items people rate, epsilon {EPSILON:g}, one round, one bit from each device. The vector is 1 at each "
        "rated item, scaled to length 1; squared errors are means over coordinates, bias included, and over several "
        "rounds.",
        "Coordinate sampling may also have the vector as it is, 0 and 1, which lies in [-1, 1] without being scaled "
        "down; the estimate is then of something larger. Signal over noise compares the two fairly: the ratio there is "
        "smaller by about the number of ratings a user has.",
        "No model is trained here, so no user mean stands beside these numbers.",
    )
    table = Table("Errors of one round", columns, rows)
    return Result([table], judge(points), _draw(points), data=data, notes=notes)


def measure(context: Context, items: int, users: int, draws: int) -> Point:
    """Both mechanisms on one market, over several rounds."""
    seed = context.seed_for("variance", items)
    ratings = synthetic.market(users, items, 30 * users, rng=seed)
    crowd, rng = Crowd.of(ratings), np.random.default_rng(seed)
    share = 1.0 / np.sqrt(np.maximum(crowd.counts, 1))
    truth = np.bincount(crowd.items, weights=share[crowd.rows], minlength=items) / users
    plain = np.bincount(crowd.items, minlength=items) / users
    rotated, sampled, raw = [], [], []
    for _ in range(draws):
        question = Question(
            "variance", 1, "popularity", EPSILON, rng.bytes(32).hex(), 16, items, 0, (1.0, 5.0), (0, 1)
        )
        ids = rng.integers(0, 256, (users, DEVICE_ID_BYTES), dtype=np.uint8)
        estimator = Estimator(question)
        estimator.add(ids, answers(question, (crowd.indptr, crowd.items, crowd.values), ids))
        rotated.append(_error(estimator.estimate(), truth))
        sampled.append(_error(sample(crowd, share, rng), truth))
        raw.append(_error(sample(crowd, np.ones(users), rng), plain))
    ours, theirs, theirs_raw = Draws(tuple(rotated)), Draws(tuple(sampled)), Draws(tuple(raw))
    signal, raw_signal = float(np.mean(truth**2)), float(np.mean(plain**2))
    return Point(
        items,
        users,
        ours.mean,
        noise_variance(EPSILON, users),
        theirs.mean,
        signal / ours.mean,
        signal / theirs.mean,
        raw_signal / theirs_raw.mean,
        ours.spread,
        theirs.spread,
    )


def sample(crowd: Crowd, entry: Floats, public: np.random.Generator) -> Floats:
    """The paper's way: each device says one bit about one coordinate of its vector, ``entry`` at each rated item."""
    item = public.integers(0, crowd.n_items, crowd.size)
    rated, _ = crowd.find(item)
    bits = respond(np.where(rated, entry, 0.0), EPSILON, Coin())
    sums = np.bincount(item, weights=bits, minlength=crowd.n_items)
    return np.asarray(sums * (crowd.n_items * amplification(EPSILON) / crowd.size))


def _error(estimate: Floats, truth: Floats) -> float:
    return float(np.mean(np.square(estimate - truth)))


def judge(points: Sequence[Point]) -> list[Finding]:
    """Against what is wanted of the mechanism, and against the formula."""
    large = [point for point in points if point.items >= FROM]
    off = [point.rotated / point.expected for point in points]
    return [
        Finding(
            f"(ours) From {FROM:,} items on the rotated mechanism's variance is at least {WANTED:g} times smaller.",
            ", ".join(f"{point.ratio:,.0f} times ({point.items:,} items)" for point in large) + ".",
            all(point.ratio >= WANTED for point in large),
        ),
        Finding(
            "(ours) The rotated mechanism's error is what the formula says, whatever the number of items.",
            f"Measured over formula: {min(off):.2f} to {max(off):.2f}.",
            all(0.85 < value < 1.15 for value in off),
        ),
        Finding(
            "(ours) Signal over noise is better as well than with coordinate sampling of the vector as it is.",
            ", ".join(f"{point.raw_ratio:,.1f} times ({point.items:,} items)" for point in points) + ".",
            all(point.raw_ratio > 1.0 for point in points),
        ),
    ]


def _draw(points: Sequence[Point]) -> Figure:
    figure, (axes,) = plotting.panels(width=6.4, height=4.2)
    sizes = [point.items for point in points]
    for number, (name, values, spreads) in enumerate(
        (
            ("coordinate sampling", [p.sampled for p in points], [p.sampled_spread for p in points]),
            ("rotated (ours)", [p.rotated for p in points], [p.rotated_spread for p in points]),
        )
    ):
        plotting.curve(axes, sizes, values, spreads, label=name, number=number)
    plotting.baseline(axes, points[0].expected, "formula, rotated", linestyle=":")
    plotting.log_axis(axes, "x")
    axes.set(
        title=f"What do more items cost? One bit of {points[0].users:,} devices, epsilon {EPSILON:g}",
        xlabel="items",
        ylabel="mean squared error of a coordinate",
        yscale="log",
    )
    plotting.label_lines(axes)
    return figure


EXPERIMENT = Experiment(
    name="local-variance",
    title="Local: variance of the rotated mechanism and of coordinate sampling",
    source="Ours, against algorithm 1 of Privacy Enhanced Matrix Factorization with Local Differential Privacy (2018)",
    shows="Mean squared error of an estimated coordinate against the number of items, for one bit from each device.",
    paper_found="Coordinate sampling has a variance that grows with the number of coordinates (theorem 2).",
    run=run,
)
