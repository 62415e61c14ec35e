"""What prototypes are compared with: exact exemplars and all ratings in one place."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.methods.prototypes.settings import FactorSettings
from reproduction.silos.methods import k_means_message, random_message
from tests.methods.prototypes.worlds import ITEMS, ratings, silo

FACTORS = FactorSettings(rank=2, rounds=50)


def test_references_are_not_private() -> None:
    silos = ratings(silo(60, 0))
    for message in (k_means_message(silos, 3, 0), random_message(silos, 3, 0)):
        assert not message.statement.private
        assert message.values.shape[1] == ITEMS


def test_k_means_finds_the_two_tastes() -> None:
    message = k_means_message(ratings([row for row in silo(400, 0) if len(row) == ITEMS]), 2, 1)
    halves = message.values[:, : ITEMS // 2].mean(axis=1) - message.values[:, ITEMS // 2 :].mean(axis=1)
    assert sorted(np.sign(halves)) == [-1.0, 1.0]
    assert np.abs(halves).min() == pytest.approx(4.0)
