"""Table 2 of the DPALS paper: sizes of the data sets, beside what is at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from reproduction.central import skew
from reproduction.context import Context
from reproduction.datasets.lookup import KNOWN, Dataset, at_hand
from reproduction.experiment import Experiment
from reproduction.result import Finding, Result, Table, columns_of


class Size(NamedTuple):
    """Users, items and ratings as the paper prints them."""

    users: int
    items: int
    ratings: int


PUBLISHED: Mapping[str, Size] = {
    "ML-10M-top400": Size(69_692, 400, 4_490_000),
    "ML-10M": Size(69_878, 10_677, 10_000_000),
    "ML-20M": Size(136_677, 20_108, 9_990_000),
}
# Ratings are printed to three digits.
TOLERANCE = 0.005


def run(context: Context) -> Result:
    rows = [_published(name, size) for name, size in PUBLISHED.items()]
    ours = _ours(context)
    rows += [_counted(name, dataset) for name, dataset in ours.items()]
    columns = columns_of(
        "data set | from | users | items rated | ratings | ratings per user .1 | users per item .1 | "
        "density [%] .2 | top fifth of items has [% of ratings] .1"
    )
    table = Table("Sizes, published and at hand", columns, rows)
    notes = (
        "Items are those rated at least once, as the paper counts them. Exact counts are private in real use; these "
        "data sets are published.",
        "Users per item is what private training lives on: noise is the same for every item, signal grows with its "
        "users.",
    )
    return Result([table], judge(ours), notes=notes)


def judge(ours: Mapping[str, Dataset]) -> list[Finding]:
    findings = []
    for name, size in PUBLISHED.items():
        claim = (
            f"{name}: {size.users:,} users, {size.items:,} items, {size.ratings / 1e6:.2f} million ratings."
        )
        if name not in ours:
            findings.append(Finding(claim, "Not at hand.", None))
            continue
        ratings = ours[name].ratings
        counted = Size(ratings.n_users, _items_rated(ours[name]), ratings.n_ratings)
        same = counted[:2] == size[:2] and abs(counted.ratings / size.ratings - 1) < TOLERANCE
        observed = f"{counted.users:,} users, {counted.items:,} items, {counted.ratings:,} ratings."
        findings.append(Finding(claim, observed, same))
    return findings


def _ours(context: Context) -> dict[str, Dataset]:
    found: dict[str, Dataset] = {}
    here = [name for name in KNOWN if at_hand(name, context.data) is not None]
    for number, name in enumerate(here):
        context.report("counting", number, len(here))
        dataset = context.dataset(name)
        if name == "ml-10m":
            found["ML-10M-top400"], found["ML-10M"] = dataset.top_items(400), dataset
        elif name == "ml-20m":
            found["ML-20M"] = dataset.clicks()
        else:
            found[dataset.title] = dataset
    market = context.market()
    found[market.title] = market
    return found


def _items_rated(dataset: Dataset) -> int:
    return int(np.count_nonzero(skew.item_counts(dataset.ratings)))


def _published(name: str, size: Size) -> dict[str, Any]:
    return {"data set": name, "from": "published", **_ratios(size)}


def _counted(name: str, dataset: Dataset) -> dict[str, Any]:
    ratings = dataset.ratings
    counts = skew.item_counts(ratings)
    size = Size(ratings.n_users, _items_rated(dataset), ratings.n_ratings)
    share = 100 * skew.top_share(counts[counts > 0], 0.2)
    return {"data set": name, "from": "at hand", **_ratios(size), "top fifth of items has": share}


def _ratios(size: Size) -> dict[str, Any]:
    return {
        "users": size.users,
        "items rated": size.items,
        "ratings": size.ratings,
        "ratings per user": size.ratings / size.users,
        "users per item": size.ratings / size.items,
        "density": 100 * size.ratings / (size.users * size.items),
    }


EXPERIMENT = Experiment(
    name="table-2",
    title="Table 2: sizes of the data sets",
    source="Private Alternating Least Squares (DPALS), appendix, table 2",
    shows="How many users, items and ratings the paper's data sets have, beside those at hand.",
    paper_found="ML-10M-top400: 69,692 users, 400 items, 4.49 million ratings; ML-10M: 69,878, 10,677, 10 million; "
    "ML-20M: 136,677, 20,108, 9.99 million.",
    run=run,
)
