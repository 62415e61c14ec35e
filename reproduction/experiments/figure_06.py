"""Figure 6 of the DPALS paper: busy users rate rare items, and what sampling does to that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.types import Bools, Floats
from reproduction.central import skew
from reproduction.context import Context
from reproduction.datasets.lookup import Dataset
from reproduction.experiment import Experiment
from reproduction.output import plotting
from reproduction.result import Column, Finding, Result, Table, columns_of
from reproduction.scoring import Draws

PUBLISHED_CORRELATION = -0.243
BINS = 24
TITLES = {"original": "original data", "uniform": "uniform sampling", "adaptive": "adaptive sampling"}


@dataclass(frozen=True)
class Joint:
    """The counts of each rating's user and item in the whole data, binned on logarithmic axes."""

    users: npt.NDArray[np.int64]
    items: npt.NDArray[np.int64]
    user_edges: Floats
    item_edges: Floats

    @classmethod
    def of(cls, dataset: Dataset) -> Joint:
        """For every rating: how many ratings its user gave, and how many its item received."""
        ratings = dataset.ratings
        per_user = np.diff(ratings.indptr)
        users = np.repeat(per_user, per_user)
        items = skew.item_counts(ratings)[ratings.items]
        return cls(users, items, _edges(users), _edges(items))

    def histogram(self, mask: Bools) -> Floats:
        """Probability of each pair of bins (items x users) among the ratings that the mask keeps."""
        counts = np.histogram2d(self.items[mask], self.users[mask], bins=(self.item_edges, self.user_edges))[
            0
        ]
        probabilities: Floats = counts / counts.sum()
        return probabilities

    def correlation(self, *, logarithms: bool = False) -> float:
        """Pearson's correlation of user count and item count over all ratings."""
        users, items = (np.log(self.users), np.log(self.items)) if logarithms else (self.users, self.items)
        return float(np.corrcoef(users, items)[0, 1])

    def popular(self, mask: Bools) -> float:
        """Share of the kept ratings that go to popular items: those with half of all ratings."""
        return float((self.items[mask] >= np.median(self.items)).mean())

    def light(self, mask: Bools) -> float:
        """Share of the kept ratings that come from light users: those with half of all ratings."""
        return float((self.users[mask] <= np.median(self.users)).mean())


def run(context: Context) -> Result:
    dataset = context.dataset("ml-10m", quick_users=2_000)
    seed, joint = context.seed_for("sample", dataset.name), Joint.of(dataset)
    drawn = [skew.samples(dataset.ratings, seed + draw) for draw in range(context.number_of_draws())]
    kinds = {kind: [masks[kind] for masks in drawn] for kind in drawn[0]}
    histograms: dict[str, Floats] = {
        kind: np.mean([joint.histogram(mask) for mask in masks], axis=0) for kind, masks in kinds.items()
    }
    popular = {kind: Draws(tuple(map(joint.popular, masks))) for kind, masks in kinds.items()}
    light = {kind: Draws(tuple(map(joint.light, masks))) for kind, masks in kinds.items()}
    summary = [
        {
            "ratings kept": TITLES[kind],
            "ratings": int(masks[0].sum()),
            **popular[kind].cells("to popular items", "its spread"),
            "from light users": light[kind].mean,
        }
        for kind, masks in kinds.items()
    ]
    columns = columns_of(
        "ratings kept | ratings | to popular items [fraction] .3 | its spread .5 | "
        "from light users [fraction] .3"
    )
    tables = [Table("Where the ratings are", columns, summary), _marginals(joint, histograms)]
    notes = (
        "Counts on both axes are those of the original data. Popular items and light users: those above and below the "
        "median count over ratings, so that half of the original ratings are theirs.",
        f"Correlation of the logarithms of the counts: {joint.correlation(logarithms=True):.3f}.",
        f"Samples of {skew.MOST} ratings a user; the adaptive one by noisy counts, sigma_p = {skew.SIGMA:g}. The "
        "histograms are exact statistics of the data, drawn to illustrate, not a private release.",
    )
    shares = {kind: value.mean for kind, value in popular.items()}
    figure = _draw(joint, histograms, dataset)
    return Result(tables, judge(dataset, joint, shares), figure, notes=notes)


def judge(dataset: Dataset, joint: Joint, popular: Mapping[str, float]) -> list[Finding]:
    correlation = joint.correlation()
    near = abs(correlation - PUBLISHED_CORRELATION) < 0.01 if dataset.as_published else None
    return [
        Finding(
            "User counts and movie counts are negatively correlated over the ratings.",
            f"{correlation:.3f} on {dataset.title}.",
            correlation < 0,
        ),
        Finding(
            f"The correlation coefficient is {PUBLISHED_CORRELATION} (MovieLens 10M).",
            f"{correlation:.3f} on {dataset.title}.",
            near,
        ),
        Finding(
            "Frequent movies become more probable under uniform sampling.",
            f"Popular items have {popular['uniform']:.1%} of the sample, {popular['original']:.1%} before.",
            popular["uniform"] > popular["original"],
        ),
        Finding(
            "Frequent movies become less probable under adaptive sampling.",
            f"Popular items have {popular['adaptive']:.1%} of the sample, {popular['original']:.1%} before.",
            popular["adaptive"] < popular["original"],
        ),
    ]


def _marginals(joint: Joint, histograms: dict[str, Floats]) -> Table:
    rows: list[dict[str, Any]] = []
    for side, edges, axis in (("item", joint.item_edges, 1), ("user", joint.user_edges, 0)):
        sums = {kind: histogram.sum(axis=axis) for kind, histogram in histograms.items()}
        rows += [
            {"count of": side, "from": low, "to": high, **{kind: sums[kind][place] for kind in sums}}
            for place, (low, high) in enumerate(pairwise(edges))
        ]
    numbers = [Column("from", "ratings", 1), Column("to", "ratings", 1)]
    columns = (Column("count of"), *numbers, *(Column(kind, "probability", 4) for kind in histograms))
    return Table("Probability of each count", columns, rows, key="marginals", shown=0)


def _edges(counts: npt.NDArray[np.int64]) -> Floats:
    return np.geomspace(0.95 * float(counts.min()), 1.05 * float(counts.max()), BINS + 1)


def _draw(joint: Joint, histograms: dict[str, Floats], dataset: Dataset) -> plotting.Figure:
    figure, axes = plotting.panels(3, width=4.4, height=4.3)
    where = f"{dataset.title}, {dataset.ratings.n_users:,} users"
    figure.suptitle(f"Do busy users rate rare items, and what does sampling do to that? {where}", fontsize=11)
    most = max(float(histogram.max()) for histogram in histograms.values())
    changes = {kind: histogram - histograms["original"] for kind, histogram in histograms.items()}
    sums = [change.sum(axis=axis) for change in changes.values() for axis in (0, 1)]
    largest = max(float(np.abs(change).max()) for change in sums)
    users, items = joint.user_edges, joint.item_edges
    for panel, (kind, histogram) in zip(axes, histograms.items(), strict=True):
        mesh = panel.pcolormesh(users, items, histogram, cmap="YlGnBu", vmin=0, vmax=most, rasterized=True)
        panel.set_title(TITLES[kind])
        outer = [panel, panel]
        if kind != "original":
            panel.tick_params(labelleft=False, labelbottom=False)
            outer = [panel.inset_axes((0, -0.1, 1, 0.06)), panel.inset_axes((-0.1, 0, 0.06, 1))]
            look: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest, "rasterized": True}
            strip = outer[0].pcolormesh(users, [0, 1], changes[kind].sum(axis=0)[None, :], **look)
            outer[1].pcolormesh([0, 1], items, changes[kind].sum(axis=1)[:, None], **look)
            outer[0].set_yticks([])
            outer[1].set_xticks([])
        for shown in {panel, *outer}:
            shown.grid(False)
            shown.tick_params(labelsize=8.5)
        for shown in (panel, outer[0]):
            plotting.log_axis(shown, "x")
        for shown in (panel, outer[1]):
            plotting.log_axis(shown, "y")
        outer[0].set_xlabel("ratings of the user")
        if kind == "original":
            panel.set_ylabel("ratings of the item")
    figure.colorbar(mesh, ax=axes, label="probability", fraction=0.03, pad=0.01)
    figure.colorbar(strip, ax=axes, label="change of a marginal (strips)", fraction=0.03, pad=0.02)
    return figure


EXPERIMENT = Experiment(
    name="figure-6",
    title="Figure 6: user and item counts under sampling",
    source="Private Alternating Least Squares (DPALS), appendix, figure 6",
    shows="Which users rate which items, and how sampling shifts the probability of popular and rare items.",
    paper_found="User counts and movie counts are negatively correlated (-0.243 on MovieLens 10M): light users rate "
    "popular movies. Uniform sampling gives light users, and so popular movies, more weight; adaptive sampling does "
    "the opposite.",
    run=run,
)
