"""A run to look at."""

from __future__ import annotations

import pytest

from reproduction import Finished, perform
from tests.reproduction.made_up import CONTEXT, experiment


@pytest.fixture
def finished() -> Finished:
    return perform(experiment(), CONTEXT)
