"""Counting clients, and refusing to listen where it would be unsafe."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.devices.collector import limits
from discreet.devices.collector.limits import Buckets, client_key
from discreet.devices.collector.serve import serve
from discreet.devices.collector.settings import CollectorSettings
from discreet.devices.collector.store import Store
from discreet.errors import SettingsInvalid

TOKEN = "0123456789abcdef"


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    clock = _Clock()
    buckets = Buckets(2.0, 5.0, clock)
    assert [buckets.take("a") for _ in range(6)] == [True] * 5 + [False]
    assert buckets.take("b")
    clock.now = 1.5
    assert [buckets.take("a") for _ in range(3)] == [True, True, False]
    clock.now = 1000.0
    assert [buckets.take("a") for _ in range(6)] == [True] * 5 + [False]


def test_who_goes_on_after_being_refused_is_flooding_until_it_rests() -> None:
    clock = _Clock()
    buckets = Buckets(1.0, 3.0, clock)
    assert not buckets.floods("a")
    for _ in range(20):
        buckets.take("a")
    assert buckets.floods("a")
    assert not buckets.floods("b")
    clock.now = 1.5
    assert not buckets.floods("a")


def test_the_table_of_clients_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TABLE", 100)
    buckets = Buckets(1.0, 1.0)
    for client in range(1000):
        buckets.take(str(client))
    assert len(buckets) == 100


def test_clients_are_counted_by_household() -> None:
    assert client_key("192.0.2.7") == "192.0.2.7"
    assert client_key("::ffff:192.0.2.7") == "192.0.2.7"
    assert client_key("2001:db8:1:2:3:4:5:6") == client_key("2001:db8:1:2:ffff::1") == "2001:db8:1:2::"
    assert client_key("fe80::1%eth0") == "fe80::"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "localhost.example.org"])
@pytest.mark.parametrize("given", [{}, {"token": TOKEN}, {"certificate": "c", "key": "c"}])
def test_beyond_this_machine_needs_encryption_and_a_token(
    tmp_path: Path, host: str, given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c").touch()
    with pytest.raises(SettingsInvalid, match="can be reached from other machines"):
        serve(CollectorSettings(store=tmp_path / "s.sqlite", host=host, **given))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"certificate": "c"}, "both"),
        ({"certificate": "c", "key": "missing"}, "no file"),
        ({"token": "short"}, "at least 16"),
    ],
)
def test_half_a_configuration_is_refused(
    tmp_path: Path, given: dict[str, str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c").touch()
    with pytest.raises(SettingsInvalid, match=why):
        serve(CollectorSettings(store=tmp_path / "s.sqlite", **given))


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
