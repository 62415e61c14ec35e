"""One model of each kind."""

from __future__ import annotations

import pytest

from discreet.model import Model
from tests.model.models import make_model


@pytest.fixture
def explicit() -> Model:
    """Twelve items with text ids and some titles, ratings 1 to 5, rank 3."""
    return make_model("explicit")


@pytest.fixture
def implicit() -> Model:
    """The same items with whole-number ids, no ratings."""
    return make_model("implicit")
