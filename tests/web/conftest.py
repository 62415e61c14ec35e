"""Pages of models, in a real Chromium (tests/conftest.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.model import Model
from discreet.statements.document import write_document
from discreet.web.page import page_files
from tests.web.support.browser import PATIENCE, Host, hosted
from tests.web.support.models import make_model
from tests.web.support.running import Running


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page in a fresh context and waits until its model is there; anything it complains about is an error."""
    contexts, complaints = [], []

    def open_page(host: Host, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1000, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(host.url)
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def exported(model: Model, folder: Path, precision: Any = "int8") -> Path:
    """The page of a model as a folder."""
    document = write_document(model.save(folder / "model"))
    place = folder / "page"
    place.mkdir()
    for name, file in page_files(model, document, precision).items():
        (place / name).write_bytes(file.content)
    return place


@pytest.fixture(scope="session")
def rated() -> Model:
    return make_model("Ridge")


@pytest.fixture(scope="session")
def running(rated: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One running service for the tests that only ask."""
    folder: Path = rated.save(tmp_path_factory.mktemp("service") / "model")
    with Running(folder) as service:
        yield service


@pytest.fixture(scope="session")
def host(rated: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with hosted(exported(rated, tmp_path_factory.mktemp("rated"))) as running:
        yield running
