"""Masks: they cancel in the full sum, and hide everything in any other."""

from __future__ import annotations

import hashlib
import hmac
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from scipy import stats

from discreet.errors import Refused, SettingsInvalid
from discreet.silos.shared import masks as secure_sum
from discreet.silos.shared.masks import from_totals, generate_key, mask, public_key, to_totals

KEYS = {name: generate_key() for name in ("ann", "bob", "cyd", "dee")}
PEERS = {name: public_key(key) for name, key in KEYS.items()}
SALT, CONTEXT = b"run", b"round"


def masks(size: int, peers: dict[str, str] = PEERS, **changes: bytes) -> dict[str, np.ndarray]:
    options: dict[str, Any] = {"salt": SALT, "context": CONTEXT} | changes
    return {name: mask(KEYS[name], name, peers, size=size, **options) for name in peers}


def uniform(vector: np.ndarray) -> float:
    """Smallest p-value of a chi-square test on each of the eight bytes, times eight."""
    table = vector.view(np.uint8).reshape(-1, 8)
    counts = [np.bincount(table[:, byte], minlength=256) for byte in range(8)]
    return 8.0 * min(float(stats.chisquare(count).pvalue) for count in counts)


def test_masks_cancel_in_the_full_sum_and_in_no_other() -> None:
    drawn = masks(20_000)
    assert not np.sum(list(drawn.values()), axis=0, dtype=np.uint64).any()
    for size in range(1, len(drawn)):
        for chosen in combinations(drawn.values(), size):
            partial = np.sum(chosen, axis=0, dtype=np.uint64)
            assert uniform(partial) > 1e-9
            assert np.count_nonzero(partial) > 19_990


def test_a_vector_of_constants_under_its_mask_is_uniform_whatever_the_constant() -> None:
    """What the server sees of one silo has the same law for any data: here ones of a million, zero and minus one."""
    drawn = masks(20_000)["bob"]
    for value in (0, 1_000_000, -1):
        seen = np.full(20_000, value, dtype=np.int64).view(np.uint64) + drawn
        assert uniform(seen) > 1e-9
        assert stats.kstest(seen / 2.0**64, "uniform").pvalue > 1e-9
    assert uniform(np.arange(20_000, dtype=np.uint64)) < 1e-9, "the test must see what is not uniform"


def test_run_round_and_roster_each_change_every_mask() -> None:
    base = masks(10_000)["ann"]
    fewer = {name: PEERS[name] for name in ("ann", "bob", "cyd")}
    for changed in (masks(10_000, salt=b"other"), masks(10_000, context=b"other"), masks(10_000, fewer)):
        assert np.count_nonzero(changed["ann"] == base) == 0
        assert uniform(changed["ann"] - base) > 1e-9


def test_who_alone_has_no_mask() -> None:
    assert not mask(KEYS["ann"], "ann", {"ann": PEERS["ann"]}, salt=SALT, context=CONTEXT, size=5).any()


def test_totals_come_back_negative_ones_too() -> None:
    blocks = [np.array([[3, -4]]), np.array([-(2**61) - 1, 0, 2**61 + 1]), np.zeros((2, 0), np.int64)]
    vector = from_totals(blocks)
    assert vector.dtype == np.uint64
    shapes = [block.shape for block in blocks]
    for block, back in zip(blocks, to_totals(vector, shapes), strict=True):
        assert np.array_equal(block, back)
    more = from_totals([-2 * blocks[0], *blocks[1:]])
    assert np.array_equal(to_totals(vector + more, shapes)[0], -blocks[0])


def test_totals_that_are_no_integers_are_never_taken_for_some() -> None:
    with pytest.raises(TypeError, match="float64"):
        from_totals([np.array([0, 1]), np.array([0.0, 3.0])])


def test_a_key_of_low_order_is_refused() -> None:
    peers = PEERS | {"eve": "00" * 32}
    with pytest.raises(Refused, match="eve"):
        mask(KEYS["ann"], "ann", peers, salt=SALT, context=CONTEXT, size=3)
    with pytest.raises(SettingsInvalid, match="32 bytes"):
        public_key(b"short")


def _hkdf(shared: bytes, salt: bytes, info: bytes) -> bytes:
    """RFC 5869 with SHA-256, one block."""
    extracted = hmac.digest(salt, shared, hashlib.sha256)
    return hmac.digest(extracted, info + b"\x01", hashlib.sha256)


def test_the_key_of_a_stream_is_hkdf_by_the_book() -> None:
    shared = secure_sum._private(KEYS["ann"]).exchange(
        X25519PublicKey.from_public_bytes(bytes.fromhex(PEERS["bob"]))
    )
    parts = (b"discreet mask 1", CONTEXT, b"ann", b"bob")
    key = _hkdf(shared, SALT, b"".join(len(part).to_bytes(4, "little") + part for part in parts))
    assert secure_sum.mask_key(KEYS["ann"], "ann", "bob", PEERS["bob"], salt=SALT, context=CONTEXT) == key


def test_parts_of_the_context_do_not_run_together() -> None:
    assert secure_sum.joined((b"ab", b"c", b"d")) != secure_sum.joined((b"a", b"bc", b"d"))
    assert secure_sum.joined((b"a", b"b", b"cd")) != secure_sum.joined((b"a", b"bc", b"d"))
