"""axe finds nothing serious, in both themes, narrow and wide, before and after ratings.

The checker is fetched from npm when it is first needed, and kept beside pytest's other notes.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web.support.browser import Host
from tests.web.test_page import choose

VERSION = "4.10.3"


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


@pytest.mark.parametrize(
    ("width", "scheme"), [(360, "light"), (1440, "dark"), (1440, "light"), (360, "dark")]
)
def test_axe_has_no_serious_finding(
    host: Host, opened: Callable[..., Any], axe: str, width: int, scheme: str
) -> None:
    page = opened(
        host, viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
    )
    page.evaluate(axe)
    assert _findings(page) == []
    for number, rating in ((12, 5), (40, None)):
        choose(page, number, rating)
    page.locator("#list summary").first.click()
    page.fill("#search", "number")
    page.locator("#found li").first.wait_for()
    assert _findings(page) == []


def _findings(page: Any) -> list[str]:
    """What axe calls moderate or worse, with the place."""
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['impact']}: {one['id']} at {[node['target'] for node in one['nodes']][:3]}"
        for one in found["violations"]
        if one["impact"] in ("moderate", "serious", "critical")
    ]
