"""The page about noise is what its stored numbers say, and they are good."""

from __future__ import annotations

import json

from benchmarks.noise import PAGE, RESULTS, passed
from benchmarks.noise_page import page
from tests.privacy.draws.samplers import MANY, SAMPLERS


def test_the_page_is_made_from_the_stored_numbers() -> None:
    found = json.loads(RESULTS.read_text())
    assert PAGE.read_text() == page(found), "run: python -m benchmarks.noise --page-only"
    assert passed(found)


def test_every_sampler_was_drawn_from_a_hundred_million_times() -> None:
    rows = json.loads(RESULTS.read_text())["samplers"]
    assert rows.keys() == SAMPLERS.keys()
    assert all(row["draws"] >= MANY for row in rows.values())
