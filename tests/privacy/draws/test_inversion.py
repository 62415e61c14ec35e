"""The binomial sampler rises where the distribution function says, to 150 binary digits."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.privacy.pure.noise import PureNoise, binomial_above
from tests.privacy.draws.inversion import CELLS, RATE, THRESHOLD, edge, exact_edge, word_edges

DIGITS = 150


@pytest.mark.parametrize("below", [0, 1, 4, 12])
def test_the_sampler_rises_where_the_distribution_function_says(below: int) -> None:
    assert edge(below, DIGITS) == exact_edge(below, DIGITS)


def test_every_draw_is_what_its_first_word_says() -> None:
    """So a hundred million words tell what as many draws would have been."""
    source = PureNoise()
    asked: list[tuple[int, int]] = []

    def bits(count: int) -> int:
        asked.append((source.bits(count), count))
        return asked[-1][0]

    for _ in range(300):
        asked.clear()
        number = binomial_above(CELLS, RATE, THRESHOLD, bits)
        first, count = asked[0]
        assert number == np.searchsorted(word_edges(), np.uint64(first >> (count - 64)), side="right")
