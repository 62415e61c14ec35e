"""Every method gives the same model on disk as in memory, to the last bit, however the users are cut into blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet import ALS, Budget
from discreet.data import StoredRatings
from discreet.engines.choice import AnyRatings
from discreet.engines.disk import DiskEngine
from discreet.engines.memory import MemoryEngine
from discreet.errors import RatingsInvalid
from discreet.methods.published.private.baselines import BaselineContributions
from discreet.methods.published.public.baselines import ChoicesQuery
from discreet.model import Model
from discreet.privacy import Noise
from discreet.privacy.gaussian.totals import exact_totals
from tests.conformance.cases import CASES, Case
from tests.engines.tables import in_memory, stored, table

BUDGET = Budget(500.0, 1e-6)
WAYS = [case for case in CASES if case.kind == "explicit" or case.label == "default"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "ratings.parquet"
    table(rows=900, users=80).write_parquet(path)
    return path


@pytest.fixture(scope="module")
def both(source: Path) -> dict[bool, tuple[AnyRatings, StoredRatings]]:
    return {
        rated: (in_memory(source, rated=rated), stored(source, source.parent / f"{rated}", rated=rated))
        for rated in (True, False)
    }


def fitted(case: Case, ratings: AnyRatings) -> Model:
    noise = Noise.fixed_key_not_private("the same twice")
    return case.method().fit(ratings, BUDGET, rng=3, noise=noise).model_


@pytest.mark.parametrize("case", WAYS, ids=str)
def test_the_model_is_the_same_to_the_last_bit(
    case: Case, both: dict[bool, tuple[AnyRatings, StoredRatings]]
) -> None:
    whole, blocks = both[case.kind == "explicit"]
    assert blocks.n_blocks > 5
    assert fitted(case, blocks).digest == fitted(case, whole).digest


def test_a_block_that_is_counted_twice_or_not_at_all_shows(
    both: dict[bool, tuple[AnyRatings, StoredRatings]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison above has power: one lost or repeated block is another sum."""
    whole, blocks = both[False]
    query = ChoicesQuery("choices", 0.1, whole.n_items)
    (wanted,) = MemoryEngine(BaselineContributions, whole).totals(query)
    (found,) = DiskEngine(BaselineContributions, blocks).totals(query)
    assert (found.value == wanted.value).all()
    parts = list(blocks.blocks())
    for wrong in (parts[1:], [*parts, parts[2]]):
        monkeypatch.setattr(StoredRatings, "blocks", lambda self, wrong=wrong: iter(wrong))
        (found,) = DiskEngine(BaselineContributions, blocks).totals(query)
        assert (found.value != wanted.value).any()


def test_a_method_that_is_not_private_asks_for_memory(
    both: dict[bool, tuple[AnyRatings, StoredRatings]],
) -> None:
    with pytest.raises(RatingsInvalid, match="--engine memory"):
        ALS(rank=2).fit(both[True][1])


def test_at_most_two_blocks_are_held(
    both: dict[bool, tuple[AnyRatings, StoredRatings]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has been read and not been given back, at any time."""
    blocks = both[True][1]
    read: list[int] = []
    one = StoredRatings._read
    monkeypatch.setattr(StoredRatings, "_read", lambda self, *given: (read.append(1), one(self, *given))[1])
    for number, ratings in enumerate(blocks.blocks(), 1):
        assert ratings.n_users
        assert len(read) <= number + 1
    assert len(read) == blocks.n_blocks
    assert exact_totals(BaselineContributions(ratings).contributions(ChoicesQuery("c", 0.1, ratings.n_items)))
