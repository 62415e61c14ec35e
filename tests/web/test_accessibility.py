"""axe finds nothing serious, in both themes, narrow and wide, before and after ratings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import exported
from tests.web.support.browser import Host, hosted
from tests.web.support.models import make_model
from tests.web.test_page import choose


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


def test_axe_has_nothing_against_like_and_not_for_me(
    opened: Callable[..., Any], axe: str, tmp_path: Path
) -> None:
    with hosted(exported(make_model("ClickTable", 90), tmp_path)) as host:
        page = opened(host, viewport={"width": 360, "height": 800}, reduced_motion="reduce")
        page.evaluate(axe)
        choose(page, 7)
        page.get_by_role("button", name="Not for me").first.click()
        page.locator("#list summary").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert _findings(page) == []


def _findings(page: Any) -> list[str]:
    """What axe calls moderate or worse, with the place."""
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['impact']}: {one['id']} at {[node['target'] for node in one['nodes']][:3]}"
        for one in found["violations"]
        if one["impact"] in ("moderate", "serious", "critical")
    ]
