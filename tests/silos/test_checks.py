"""What a silo compares a question with, number by number, whatever a decoder before it has let through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import Refused
from discreet.methods.ease.public.queries import PairsQuery
from discreet.methods.shared.public.sample import Sample, SampledCounts
from discreet.silos.silo.checks import check_question

COUNTS = np.array([1.0, 20.0, 3.0])
SAMPLE = Sample(1, 5, "tail", COUNTS, np.ones(3))
EXPECTED = SampledCounts("counts", 0.1, SAMPLE, 3)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, -1.0, 1.00001, 0.0])
def test_another_number_in_any_place_is_refused(number: float) -> None:
    for place in range(3):
        counts = COUNTS.copy()
        counts[place] = number * (1.0 if abs(number) != 1.00001 else counts[place])
        asked = replace(EXPECTED, sample=replace(SAMPLE, counts=counts))
        with pytest.raises(Refused, match="counts differs"):
            check_question(asked, EXPECTED)


def test_the_last_bits_may_differ_and_no_more() -> None:
    counts = COUNTS * (1.0 + 1e-9)
    check_question(replace(EXPECTED, sample=replace(SAMPLE, counts=counts)), EXPECTED)
    check_question(EXPECTED.at(0.05), EXPECTED)
    for mu in (0.1001, np.nan, np.inf):
        with pytest.raises(Refused, match="less noise"):
            check_question(EXPECTED.at(mu), EXPECTED)
    for mu in (0.1001, 0.0999):
        with pytest.raises(Refused, match="was planned"):
            check_question(EXPECTED.at(mu), EXPECTED, exact_cost=True)
    with pytest.raises(Refused, match="where 'counts' is due"):
        check_question(replace(EXPECTED, name="other"), EXPECTED)


def test_whole_numbers_are_compared_exactly_however_large() -> None:
    """Positions of items in a catalogue of millions: a part in a million would be another item."""
    head = np.array([7, 5_000_000], dtype=np.int32)
    due = PairsQuery("pairs", 0.1, head)
    check_question(replace(due, head=head.copy()), due)
    with pytest.raises(Refused, match="head differs"):
        check_question(replace(due, head=head + np.array([0, 1], dtype=np.int32)), due)
