"""Entropy of a test follows from its name, that of a fresh one and of every process beside it does not."""

from __future__ import annotations

import os
import random
import secrets
import uuid
from multiprocessing import get_context

import numpy as np
import pytest

from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.local.rotated import Coin
from tests.entropy import entropy_of

SETTLED = os.environ.get("DISCREET_FRESH") != "1"


def drawn() -> list[object]:
    """Everything that the package, its tests and NumPy ask the operating system through."""
    return [
        os.urandom(16),
        secrets.token_bytes(16),
        secrets.randbits(128),
        random.SystemRandom().getrandbits(128),
        uuid.uuid4(),
        Noise().normals(3).tolist(),
        Coin().words(3).tolist(),
        np.random.default_rng().random(3).tolist(),
    ]


@pytest.mark.skipif(not SETTLED, reason="all tests are fresh")
def test_a_name_says_what_is_drawn_and_every_draw_is_another() -> None:
    with entropy_of("one"):
        first, then = drawn(), drawn()
    with entropy_of("one"):
        again = drawn()
    with entropy_of("other"):
        other = drawn()
    assert first == again
    for mine, theirs in ((first, then), (first, other)):
        assert all(one != two for one, two in zip(mine, theirs, strict=True))


def test_what_is_to_be_fresh_is_fresh() -> None:
    seen = []
    for _ in range(2):
        with entropy_of("one", fresh=True):
            seen.append(drawn())
    assert all(one != two for one, two in zip(*seen, strict=True))


def repeats(request: pytest.FixtureRequest) -> bool:
    """Whether what a test draws first is what its name says."""
    mine = os.urandom(16)
    with entropy_of(request.node.nodeid):
        return os.urandom(16) == mine


@pytest.mark.skipif(not SETTLED, reason="all tests are fresh")
def test_a_test_repeats(request: pytest.FixtureRequest) -> None:
    assert repeats(request)


@pytest.mark.fresh
def test_a_test_that_is_marked_fresh_does_not(request: pytest.FixtureRequest) -> None:
    assert not repeats(request)


def test_a_forked_process_does_not_repeat_its_parent() -> None:
    fork = get_context("fork")
    here, there = fork.Pipe(duplex=False)
    with entropy_of("parent"):
        child = fork.Process(target=lambda: there.send(os.urandom(16)))
        child.start()
        mine = os.urandom(16)
        assert here.poll(120)
        assert here.recv() != mine
        child.join()
