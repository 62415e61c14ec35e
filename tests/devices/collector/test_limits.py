"""Refusing to listen where it would be unsafe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.devices.collector.app import CollectorSettings, serve
from discreet.devices.collector.store import Store
from discreet.errors import SettingsInvalid

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "localhost.example.org"])
@pytest.mark.parametrize("given", [{}, {"token": TOKEN}, {"behind_proxy": True}])
def test_beyond_this_machine_needs_a_proxy_and_a_token(
    tmp_path: Path, host: str, given: dict[str, Any]
) -> None:
    with pytest.raises(SettingsInvalid, match="can be reached from other machines"):
        serve(CollectorSettings(store=tmp_path / "s.sqlite", host=host, **given))


def test_a_short_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="at least 16"):
        serve(CollectorSettings(store=tmp_path / "s.sqlite", token="short"))


def test_a_store_has_one_collector_at_a_time_and_is_not_another_programs_file(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    with pytest.raises(SettingsInvalid, match="in use"):
        Store(tmp_path / "s.sqlite")
    store.close()
    Store(tmp_path / "s.sqlite").close()
    (tmp_path / "text").write_text("not a database at all, but long enough to look like one" * 50)
    with pytest.raises(SettingsInvalid, match="cannot be used"):
        Store(tmp_path / "text")
    with pytest.raises(SettingsInvalid, match="cannot be made"):
        Store(tmp_path / "nowhere" / "s.sqlite")
