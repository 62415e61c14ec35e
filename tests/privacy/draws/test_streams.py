"""Threads, forked processes, copies and restarts draw streams that have nothing in common."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.types import Floats
from tests.privacy.draws.streams import FORKS, MOST_COMMON, RUNS, SOURCES, THREADS, drawn, related

SIZE = 1 << 14


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Floats]]:
    return drawn(SIZE, Path(tmp_path_factory.mktemp("streams")))


@pytest.mark.parametrize("kind", SOURCES)
def test_no_two_streams_are_related(streams: dict[str, dict[str, Floats]], kind: str) -> None:
    assert len(streams[kind]) == RUNS * (3 + 2 * THREADS + FORKS)
    found = related(streams[kind])
    assert found.common <= MOST_COMMON
    assert found.correlation < found.most


def test_what_is_related_a_little_shows(streams: dict[str, dict[str, Floats]]) -> None:
    """A stream that joins another one late, one with its signs turned, and a little of another's noise."""
    one, other, *_ = streams["normals"].values()
    late = np.concatenate([other[: SIZE // 2], one[: SIZE // 2]])
    turned = one * np.where(other > 0, 1.0, -1.0)
    mixed = 0.1 * one + np.sqrt(0.99) * other
    assert not related({"one": one, "other": other}).alarm
    for copied in (late, turned):
        assert related({"one": one, "copied": copied}).common > MOST_COMMON
    for copied in (late, mixed):
        found = related({"one": one, "copied": copied})
        assert found.correlation > found.most
