"""What a server makes of a round's bits: exact sums, in any order, and its definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.devices.estimator import Estimator
from discreet.errors import SettingsInvalid
from discreet.privacy.local.rotated import packed_signs
from tests.devices.support.questions import pseudonyms, question


def brute_force(asked, ids, bits):  # type: ignore[no-untyped-def]
    """The estimate by its definition, device by device."""
    total = np.zeros(asked.coordinates)
    signs = np.unpackbits(packed_signs(asked), axis=1)
    for one, bit in zip(ids, bits, strict=True):
        rotation, coordinate = asked.place(one.tobytes())
        for j in range(asked.coordinates):
            minus = int(signs[rotation, j]) ^ (j & coordinate).bit_count() & 1
            total[j] += (2 * int(bit) - 1) * (-1) ** minus
    return total * math.sqrt(math.pi / 2) * (math.e + 1) / (math.e - 1) / len(bits)


@pytest.mark.parametrize("kind", ["popularity", "factors"])
def test_the_estimate_is_its_definition_in_any_order(kind: str) -> None:
    rng = np.random.default_rng(2)
    asked = question(kind, items=20, rotations=4)  # type: ignore[arg-type]
    ids = pseudonyms(60, rng)
    bits = rng.integers(0, 2, 60)
    whole = Estimator(asked)
    whole.add(ids, bits)
    np.testing.assert_allclose(whole.estimate(), brute_force(asked, ids, bits), atol=1e-12)
    order = rng.permutation(60)
    parts = Estimator(asked)
    parts.add([one.tobytes() for one in ids[order[:25]]], bits[order[:25]])
    parts.add(ids[order[25:]], bits[order[25:]])
    assert (parts.estimate() == whole.estimate()).all()
    assert parts.answers == 60


def test_no_answers_give_zeros() -> None:
    assert not Estimator(question("popularity")).estimate().any()


def test_wrong_bits_and_pseudonyms_are_refused() -> None:
    estimator = Estimator(question("popularity"))
    ids = pseudonyms(2, np.random.default_rng(0))
    for bits in ([1], [0, 2], [0.5, 1]):
        with pytest.raises(SettingsInvalid):
            estimator.add(ids, bits)
    with pytest.raises(SettingsInvalid):
        estimator.add([b"short"], [1])
