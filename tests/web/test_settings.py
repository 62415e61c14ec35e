"""Where the service may listen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import SettingsInvalid
from discreet.web.service import ServiceSettings
from tests.web.support.models import make_model
from tests.web.support.running import Running

TOKEN = "a token of some length"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"host": "0.0.0.0"}, "--anyone"),
        ({"host": "example.org", "token": TOKEN}, "--anyone"),
        ({"token": "short"}, "at least"),
    ],
)
def test_what_would_be_open_to_others_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsInvalid, match=why):
        ServiceSettings(model=Path("model"), **options).check()


@pytest.mark.parametrize(
    "options", [{}, {"host": "localhost"}, {"host": "::1"}, {"host": "0.0.0.0", "anyone": True}]
)
def test_this_machine_alone_or_said_in_so_many_words(options: dict[str, Any]) -> None:
    ServiceSettings(model=Path("model"), **options).check()


def test_with_a_token_only_health_is_told_without_it(tmp_path: Path) -> None:
    folder = make_model("Clicks", 20, 2).save(tmp_path / "model")
    with Running(folder, token=TOKEN) as service:
        assert service.get("/health/live") == {"live": True}
        for path in ("/items", "/statement", "/metrics", "/", "/model.bin"):
            assert service.ask("GET", path)[0] == 401, path
            assert service.ask("GET", path, headers={"authorization": "Bearer wrong"})[0] == 401, path
            assert service.ask("GET", path, headers={"authorization": f"Bearer {TOKEN}"})[0] == 200, path
        assert service.ask("POST", "/recommend", {"history": []})[0] == 401
