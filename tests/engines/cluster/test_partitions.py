"""Every block is one worker's, loads are even, and workers are where the processors are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.cluster import WorkerPlace, place_workers, share_blocks


@given(st.lists(st.integers(0, 4_000_000), min_size=1, max_size=60), st.integers(1, 20))
def test_every_block_is_one_workers_and_nobody_has_none(sizes: list[int], workers: int) -> None:
    shares = share_blocks(sizes, workers)
    assert sorted(number for share in shares for number in share) == list(range(len(sizes)))
    assert all(shares)
    assert len(shares) == min(workers, len(sizes))
    loads = [sum(sizes[number] for number in share) for share in shares]
    # The one who has most had least before the last block came.
    assert max(loads) <= sum(sizes) / len(shares) + max(sizes) + len(sizes)


def test_a_worker_for_each_processor_wherever_it_is() -> None:
    places = place_workers({"large": 3, "small": 1}, None)
    assert sorted(places) == [WorkerPlace("large", 1)] * 3 + [WorkerPlace("small", 1)]


def test_fewer_workers_are_spread_and_share_the_processors() -> None:
    assert place_workers({"a": 4, "b": 4}, 2) == [WorkerPlace("a", 4), WorkerPlace("b", 4)]
    assert place_workers({"a": 4, "b": 1}, 3) == [
        WorkerPlace("a", 2),
        WorkerPlace("b", 1),
        WorkerPlace("a", 2),
    ]


def test_more_workers_than_processors_have_one_thread_each() -> None:
    assert place_workers({"a": 2}, 5) == [WorkerPlace("a", 1)] * 5
