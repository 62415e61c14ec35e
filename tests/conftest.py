"""Entropy and examples that are the same in every run; a Chromium, and the checker of accessibility.

The checker is fetched from npm when it is first needed, and kept beside pytest's other notes.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.entropy import entropy_of
from tests.forked import Forked
from tests.sizes import FULL, sized
from tests.web.support.browser import ARGUMENTS, CHROMIUM, MISSING, PATIENCE

VERSION = "4.10.3"

# Examples follow from the test alone, not from what failed before or from how long the machine took.
if find_spec("hypothesis") is not None:
    from hypothesis import settings

    settings.register_profile("same", derandomize=True, database=None, deadline=None)
    settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever takes a number from ``tests/sizes.py`` grows in ``make check``."""
    for item in items:
        names = vars(getattr(item, "module", None) or SimpleNamespace())
        if names.get("sized") is sized or "FULL" in names:
            item.add_marker("grows")


def fresh(node: pytest.Item | pytest.Collector) -> bool:
    """Whether the operating system is to be asked: always by some tests, and by those that grow at full size."""
    marked = node.get_closest_marker
    return marked("fresh") is not None or (FULL and marked("grows") is not None)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    with entropy_of(f"collection of {collector.nodeid}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    with entropy_of(item.nodeid, fresh=fresh(item)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """What several tests share must not follow from the one that came first."""
    if fixturedef.scope == "function":
        return (yield)
    name = f"{fixturedef.baseid}::{fixturedef.argname}[{request.param_index}]"
    with entropy_of(name, fresh=fresh(request.node)):
        return (yield)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parties of ``collect simulate``: their interpreters would take most of the time."""
    popen = SimpleNamespace(**{**vars(subprocess), "Popen": Forked})
    monkeypatch.setattr("discreet.devices.loopback.subprocess", popen)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Closed after the file: while it is open its event loop counts as running, and asyncio.run refuses to run."""
    if CHROMIUM is None:
        pytest.skip(MISSING)
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE)
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest) -> str:
    """The checker as one script."""
    folder: Path = request.config.cache.mkdir(f"axe-{VERSION}")  # type: ignore[union-attr]
    script = folder / "axe.min.js"
    if not script.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm was not found, so the page was not checked with axe")
        command = [npm, "pack", "--silent", f"axe-core@{VERSION}", "--pack-destination", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            pytest.skip("npm did not answer in time, so the page was not checked with axe")
        if done.returncode != 0:
            pytest.skip(f"axe could not be fetched from npm: {done.stderr.strip()[:200]}")
        with tarfile.open(folder / f"axe-core-{VERSION}.tgz") as archive:
            content = archive.extractfile("package/axe.min.js")
            assert content is not None
            part = folder / "axe.part"
            part.write_bytes(content.read())
            part.replace(script)
    return script.read_text(encoding="utf-8")
