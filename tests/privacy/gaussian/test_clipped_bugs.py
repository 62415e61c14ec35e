"""Mistakes of the papers and others put into the clipped mechanisms on purpose: each must be seen.

The gate would silence whoever exceeds the bound; it is blinded here, so that the clipping stands alone.
"""

from __future__ import annotations

import numpy as np
import pytest

from discreet.privacy.gaussian import blocks, clipped, item_blocks
from tests.privacy.bugs import Bug, apply, nothing, same_block
from tests.privacy.mechanisms import CASES, hostile_users

_KINDS = (
    item_blocks.ItemVector,
    item_blocks.ItemMatrix,
    item_blocks.ItemWeight,
    item_blocks.UserMatrix,
    blocks.UserVector,
    item_blocks.CoMoment,
)
_BLIND = tuple((kind, "without", same_block) for kind in _KINDS)
_ROUND = (clipped.ItemNormalEquations, "blocks")
_COST = (clipped.ItemNormalEquations, "mu")


def bug(name: str, release: str, *changes: tuple) -> Bug:
    """A change that must make a user move this release by more than is charged."""
    return Bug(name, lambda: check(release), (*changes, *_BLIND))


def check(release: str) -> None:
    for seed in range(4):
        assert max(CASES[release].moves(hostile_users(seed))) <= 1.0 + 1e-9


BUGS = [
    bug(
        "rows clipped by max, as printed",
        "equations",
        (clipped, "clip_rows", ("np.minimum(1.0, bound", "np.maximum(1.0, bound")),
    ),
    bug("entries not clipped", "mean", (clipped, "clip_entries", lambda values: np.clip(values, -1.5, 1.5))),
    bug(
        "one Gaussian counted where two are released (theorem 1)",
        "equations",
        (
            *_COST,
            ("math.hypot(1.0 / self.sigma_matrix, 1.0 / self.sigma_vector)", "(1.0 / self.sigma_matrix)"),
        ),
    ),
    bug(
        "gravity released and not counted",
        "equations with gravity",
        (*_COST, ("math.hypot(mu, 1.0 / self.sigma_moment)", "mu")),
    ),
    bug("k taken for one item", "equations", (*_COST, ("mu = math.sqrt(self.most) *", "mu = 1.0 *"))),
    bug(
        "item weights left out of a user's share",
        "weighted equations",
        (clipped, "_shares", ("pattern.user_squares(weights)", "pattern.user_squares()")),
    ),
    bug(
        "share by the sum of weights, not of their squares, to the half",
        "weighted equations",
        (clipped, "_shares", ("np.sqrt(np.divide(most, load", "(np.divide(2.0 * most, load")),
    ),
    bug(
        "the mean moves by sqrt(k), as in the paper",
        "mean",
        (clipped.MeanValue, "blocks", ("(grid / self.max_ratings)", "(grid / math.sqrt(self.max_ratings))")),
    ),
    bug("the mean's count is free", "mean", (clipped.MeanValue, "blocks", ("math.sqrt(2.0)", "1.0"))),
    bug(
        "counts move by one", "counts", (clipped.ItemCounts, "blocks", ("math.sqrt(self.max_ratings)", "1.0"))
    ),
    bug(
        "counts beside sums are free",
        "item sums",
        (clipped.ItemSums, "blocks", ("2.0 * self.max_ratings", "self.max_ratings")),
    ),
    bug(
        "sparse rows clipped by max",
        "co-moment",
        (clipped, "_clip_segments", ("np.maximum(norms, 1.0)", "np.minimum(norms, 1.0)")),
    ),
    bug(
        "sparse rows not clipped",
        "co-moment",
        (clipped, "_clip_segments", lambda pattern, values: values / 8.0),
    ),
    bug(
        "a product of rows that are not clipped",
        "products",
        (clipped, "_clip_segments", lambda pattern, values: np.nan_to_num(values / 8.0, posinf=1, neginf=-1)),
    ),
    bug("rounded to nearest", "equations", (*_ROUND, ("MARGIN", "(1.0 + 1e-3)"))),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_deliberate_bug_is_caught(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    with np.errstate(all="ignore"):
        bug.check()
        apply(bug, monkeypatch)
        with pytest.raises(AssertionError):
            bug.check()


def test_without_the_refusal_a_user_with_more_than_k_items_is_caught_by_the_gate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two walls: the function refuses, and behind it the gate silences."""
    monkeypatch.setattr(clipped, "_at_most", nothing)
    assert max(CASES["counts"].moves(hostile_users(0, most=9))) <= 1.0 + 1e-9
    for kind in _KINDS:
        monkeypatch.setattr(kind, "without", same_block)
    assert max(CASES["counts"].moves(hostile_users(0, most=9))) > 1.1
