"""Shamir's secret sharing: enough shares give the secret, fewer fit any."""

from __future__ import annotations

from itertools import combinations, islice
from secrets import token_bytes

import pytest

from discreet.silos.shared.secret_sharing import PRIME, SECRET_BYTES, SHARE_BYTES, deal, recover


@pytest.mark.parametrize(("count", "threshold"), [(1, 1), (3, 2), (5, 4), (6, 4), (32, 17)])
def test_any_threshold_of_the_shares_give_the_secret(count: int, threshold: int) -> None:
    secret = token_bytes(SECRET_BYTES)
    shares = dict(enumerate(deal(secret, count, threshold), 1))
    assert {len(share) for share in shares.values()} == {SHARE_BYTES}
    for places in (*islice(combinations(shares, threshold), 20), list(shares)[-threshold:]):
        assert recover({place: shares[place] for place in places}) == secret


def test_extreme_secrets_come_back() -> None:
    for secret in (bytes(32), b"\xff" * 32, b"\x01" + bytes(31), bytes(31) + b"\x01"):
        assert recover(dict(enumerate(deal(secret, 4, 3), 1))) == secret


def test_one_share_less_fits_every_secret() -> None:
    """Whatever the missing share is, some secret follows; and for any secret there is a share that leads to it."""
    shares = dict(enumerate(deal(token_bytes(32), 4, 3), 1))
    held = {1: shares[1], 2: shares[2]}
    base = _value(held | {3: (0).to_bytes(SHARE_BYTES)})
    slope = (_value(held | {3: (1).to_bytes(SHARE_BYTES)}) - base) % PRIME
    wanted = int.from_bytes(token_bytes(32))
    missing = (wanted - base) * pow(slope, -1, PRIME) % PRIME
    assert recover(held | {3: missing.to_bytes(SHARE_BYTES)}) == wanted.to_bytes(32)


def _value(shares: dict[int, bytes]) -> int:
    """Interpolated at 0 by hand, without the check that a secret has 32 bytes."""
    total = 0
    for place, share in shares.items():
        factor = 1
        for other in shares:
            if other != place:
                factor = factor * other * pow(other - place, -1, PRIME) % PRIME
        total += int.from_bytes(share) * factor
    return total % PRIME


def test_shares_of_one_secret_are_fresh_every_time_and_spread_over_the_field() -> None:
    secret = bytes(32)
    first, second = deal(secret, 3, 2), deal(secret, 3, 2)
    assert not set(first) & set(second)
    tops = [int.from_bytes(deal(secret, 2, 2)[0]) * 16 // PRIME for _ in range(4_000)]
    counts = [tops.count(k) for k in range(16)]
    assert min(counts) > 150, "uniform: 250 in each, 15.3 standard deviation"
    assert max(counts) < 350


def test_wrong_shares_do_not_pass_for_a_secret_that_is_none() -> None:
    largest = (PRIME - 1).to_bytes(SHARE_BYTES)
    assert recover({1: largest}) is None
    with pytest.raises(ValueError, match="32 bytes"):
        deal(b"short", 3, 2)
    with pytest.raises(ValueError, match="needed"):
        deal(bytes(32), 3, 4)
