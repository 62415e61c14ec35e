"""One running service for the tests that only ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.model import Model
from tests.service.support.models import make_model
from tests.service.support.running import Running


@pytest.fixture(scope="session")
def model() -> Model:
    return make_model("Ridge")


@pytest.fixture(scope="session")
def running(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = model.save(tmp_path_factory.mktemp("service") / "model")
    with Running(folder) as service:
        yield service
