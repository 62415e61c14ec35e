"""Threads: how many, shared fairly, and safe to call from several places at once."""

from __future__ import annotations

import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from discreet import kernels
from discreet.kernels.threads import SMALL_WORK, claim, share


def test_setting_and_borrowing():
    before = kernels.get_threads()
    try:
        kernels.set_threads(5)
        assert kernels.get_threads() == 5
        with kernels.threads(2):
            assert kernels.get_threads() == 2
            with kernels.threads(7):
                assert kernels.get_threads() == 7
            assert kernels.get_threads() == 2
        assert kernels.get_threads() == 5
    finally:
        kernels.set_threads(before)


@pytest.mark.parametrize("k", [0, -1])
def test_fewer_than_one_is_refused(k):
    with pytest.raises(ValueError, match="at least 1"):
        kernels.set_threads(k)
    with pytest.raises(ValueError, match="at least 1"), kernels.threads(k):
        pass


def workers_of(multiplications, rows):
    """The threads that took part."""
    seen = set()

    def work(counter, grain):
        seen.add(threading.get_ident())

    with kernels.threads(4):
        share(work, rows, multiplications)
    return len(seen)


def test_small_work_stays_in_the_calling_thread():
    assert workers_of(SMALL_WORK - 1, 1000) == 1
    assert workers_of(SMALL_WORK, 1) == 1
    assert workers_of(0, 0) == 1


def test_no_more_threads_than_the_work_is_worth():
    arrived = []

    def come(counter, grain, gate):
        arrived.append(gate.wait())  # a barrier passes only if so many come

    for worth in (2, 4):
        arrived.clear()
        with kernels.threads(4):
            share(come, 1000, worth * SMALL_WORK - 1, threading.Barrier(worth, timeout=240))
        assert len(arrived) == worth


def test_an_error_in_any_thread_reaches_the_caller():
    gate = threading.Barrier(3, timeout=240)  # what no helper has begun would be dropped

    def work(counter, grain):
        gate.wait()
        if threading.current_thread() is not threading.main_thread():
            raise OverflowError("helper")

    with kernels.threads(3), pytest.raises(OverflowError, match="helper"):
        share(work, 1000, 2 * SMALL_WORK)


def test_work_shared_from_inside_a_helper_is_done():
    """Nobody waits for a helper: else helpers that share work could wait for each other forever."""
    done = []

    def inner(counter, grain):
        if claim_once(counter):
            done.append(1)

    def claim_once(counter):
        with lock:
            counter[0] += 1
            return counter[0] == 1

    lock = threading.Lock()
    gate = threading.Barrier(3, timeout=240)

    def outer(counter, grain):
        gate.wait()
        share(inner, 1000, 50 * SMALL_WORK)

    with kernels.threads(3):
        share(outer, 1000, 2 * SMALL_WORK)
    assert len(done) == 3


def test_a_forked_child_has_threads_of_its_own():
    with kernels.threads(3):
        share(lambda counter, grain: None, 1000, 2 * SMALL_WORK)  # the parent has a pool
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forking beside threads
        child = os.fork()
    if child == 0:
        gate = threading.Barrier(3, timeout=240)
        try:
            with kernels.threads(3):
                share(lambda counter, grain: gate.wait(), 1000, 2 * SMALL_WORK)
            os.write(writer, b"shared")
        finally:
            os._exit(0)
    os.close(writer)
    assert os.read(reader, 100) == b"shared"
    os.close(reader)
    os.waitpid(child, 0)


def test_every_row_is_claimed_once():
    import numba

    @numba.njit(nogil=True)
    def work(counter, grain, taken):
        first = claim(counter, grain)
        while first < len(taken):
            for row in range(first, min(first + grain, len(taken))):
                taken[row] += 1
            first = claim(counter, grain)

    taken = np.zeros(100_000, np.int64)
    with kernels.threads(4):
        share(work, len(taken), 4 * SMALL_WORK, taken)
    assert (taken == 1).all()


def test_callers_in_several_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((300, 12))
    indptr, items = np.arange(0, 300_001, 300), np.tile(np.arange(300), 1000)
    H = rng.standard_normal((50, 12, 12))
    H, q = H + H.transpose(0, 2, 1), rng.standard_normal((50, 12))

    def task(seed):
        targets = np.random.default_rng(seed).standard_normal(len(items))
        rows = kernels.solve_rows(indptr, items, targets, features, np.ones(12))
        return rows.tobytes(), kernels.solve_items(H, q, np.arange(1.0, 13.0)).tobytes()

    alone = [task(seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(task, range(6))) == alone


@pytest.mark.parametrize("rows", [0, 1, 5_000, 20_011])
@pytest.mark.parametrize("number", [1, 2, 7])
def test_every_row_is_worked_on_once(rows: int, number: int) -> None:
    seen = np.zeros(rows, np.int64)

    def count(part: slice) -> None:
        seen[part] += 1

    with kernels.threads(number):
        kernels.by_rows(count, rows)
    assert (seen == 1).all()
