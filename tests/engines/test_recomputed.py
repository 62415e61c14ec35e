"""Whoever contributes something else among others than among few stops the run before there is noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Budget, PrivateSVD, Ratings
from discreet.data.synthetic import market
from discreet.engines.disk import DiskEngine
from discreet.errors import UnchargedRelease
from discreet.methods.method import PrivateMethod
from discreet.methods.published.private.svd import SVDContributions
from discreet.privacy import Gate
from discreet.privacy.gaussian.blocks import Block, Pattern, UserVector
from discreet.privacy.gaussian.item_blocks import ItemVector
from discreet.privacy.gaussian.totals import same_contributions
from tests.engines.tables import stored, table

BUDGET = Budget(5.0, 1e-5)


class AroundTheMean(SVDContributions):
    """Rates everything around the mean of all users: whoever comes moves what the others hand in."""

    def __init__(self, ratings: Ratings) -> None:
        away = ratings.values - ratings.values.mean() + 3.0
        super().__init__(replace(ratings, values=np.clip(away, 1.0, 5.0)))


class WithoutTheLast(SVDContributions):
    """Off by one over users."""

    def __init__(self, ratings: Ratings) -> None:
        super().__init__(ratings.take_users(slice(0, max(ratings.n_users - 1, 0))))


class ByNumber(SVDContributions):
    """Half of what the user in an odd row rates counts."""

    def contributions(self, query: Any) -> Sequence[Block]:
        blocks = super().contributions(query)
        return [block.without(np.arange(len(block.energies())) % 2 == 1) for block in blocks]


def method(answers: type[Any]) -> PrivateMethod:
    class Other(PrivateSVD):
        private_half = answers

    return Other(rank=2)


@pytest.mark.parametrize("answers", [AroundTheMean, WithoutTheLast, ByNumber])
def test_a_private_half_that_looks_at_others_is_stopped_before_there_is_noise(
    answers: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[str] = []
    original = Gate.release_totals

    def watched(self: Gate, name: str, *rest: Any, **other: Any) -> Any:
        released.append(name)
        return original(self, name, *rest, **other)

    monkeypatch.setattr(Gate, "release_totals", watched)
    ratings = market(3_000, 30, 20_000, rng=0)
    method(SVDContributions).fit(ratings, BUDGET, rng=0)
    honest = len(released)
    released.clear()
    with pytest.raises(UnchargedRelease, match="depends on who else is there"):
        method(answers).fit(ratings, BUDGET, rng=0)
    assert len(released) < honest


def test_on_disk_likewise(tmp_path: Path) -> None:
    source = tmp_path / "r.parquet"
    table().write_parquet(source)
    kept = stored(source, tmp_path / "blocks", block_ratings=200)
    queries: list[Any] = []

    class Noting(SVDContributions):
        def contributions(self, query: Any) -> Sequence[Block]:
            queries.append(query)
            return super().contributions(query)

    method(Noting).fit(kept, BUDGET, rng=0)
    query = next(one for one in queries if "mean" in type(one).__name__.lower())
    assert DiskEngine(SVDContributions, kept).totals(query)
    with pytest.raises(UnchargedRelease):
        DiskEngine(AroundTheMean, kept).totals(query)


def test_very_few_users_are_compared_as_well() -> None:
    for users in (1, 2, 3):
        method(SVDContributions).fit(
            market(500, 30, 3_000, rng=0).take_users(slice(0, users)), Budget(50.0, 1e-2), rng=0
        )


PATTERN = Pattern(np.array([0, 2, 3, 3]), np.array([0, 2, 1], np.int32), 3)


def vectors(features: list[int], targets: list[int], pattern: Pattern = PATTERN) -> ItemVector:
    arrays = np.array(features, np.int16)[:, None], np.array(targets, np.int16)
    return ItemVector("v", 2.0**14, pattern, np.ones(3), *arrays)


def test_every_number_of_a_user_is_compared() -> None:
    whole, users = vectors([1, 2, 3], [4, 5, 6]), np.array([1, 0])
    turned = Pattern(np.array([0, 1, 3]), np.array([1, 0, 2], np.int32), 3)
    assert same_contributions([whole], users, [vectors([2, 1], [6, 4, 5], turned)])
    assert not same_contributions([whole], users, [vectors([2, 2], [6, 4, 5], turned)])
    assert not same_contributions([whole], users, [vectors([2, 1], [6, 4, 4], turned)])
    elsewhere = Pattern(np.array([0, 1, 3]), np.array([1, 0, 1], np.int32), 3)
    assert not same_contributions([whole], users, [vectors([2, 1], [6, 4, 5], elsewhere)])
    assert not same_contributions([whole], users, [replace(vectors([2, 1], [6, 4, 5], turned), unit=2.0**13)])
    assert not same_contributions([whole], users, [])
    assert not same_contributions([whole], np.array([1, 7]), [vectors([2, 1], [6, 4, 5], turned)])
    rows = UserVector("u", 1.0, np.arange(6, dtype=np.int32).reshape(3, 2))
    assert same_contributions([rows], users, [replace(rows, values=rows.values[users])])
    assert not same_contributions([rows], users, [replace(rows, values=rows.values[users] + 1)])
