"""What the shuffler keeps, mixes and forgets, and whose file it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from discreet.devices.collector.messages import MOST_SEALED
from discreet.devices.device.shuffled import SEALED_BYTES
from discreet.devices.shuffler.settings import read_key
from discreet.devices.shuffler.store import Kept, ShufflerStore
from discreet.errors import SettingsInvalid


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ShufflerStore]:
    with closing(ShufflerStore(tmp_path / "s.sqlite")) as made:
        made.pin_offer("films", "{}")
        made.begin("films", 1, b"asked")
        yield made


def reports(count: int, number: int = 1) -> list[Kept]:
    return [Kept("films", number, os.urandom(16), os.urandom(SEALED_BYTES)) for _ in range(count)]


def handed_on(store: ShufflerStore) -> list[list[bytes]]:
    found = []
    while (piece := store.next_piece("films")) is not None:
        body = piece.reports
        found.append([body[start : start + SEALED_BYTES] for start in range(0, len(body), SEALED_BYTES)])
        store.delete_piece(piece)
    return found


def test_a_batch_is_all_that_waits_in_an_order_of_its_own(store: ShufflerStore) -> None:
    sent = reports(MOST_SEALED + 200)
    store.keep(sent)
    assert store.mix("films", 1, len(sent) + 1) == 0
    assert store.next_piece("films") is None
    assert store.mix("films", 1, len(sent)) == len(sent)
    pieces = handed_on(store)
    assert [len(piece) for piece in pieces] == [MOST_SEALED, 200]
    mixed = [sealed for piece in pieces for sealed in piece]
    assert sorted(mixed) == sorted(report.sealed for report in sent)
    places = {sealed: place for place, sealed in enumerate(mixed)}
    bound = 4.5 / np.sqrt(len(sent) - 1)
    by_arrival = [places[report.sealed] for report in sent]
    by_name = [places[report.sealed] for report in sorted(sent, key=lambda report: report.device)]
    by_content = [places[sealed] for sealed in sorted(places)]
    for order in (by_arrival, by_name, by_content):
        assert abs(spearmanr(order, range(len(order))).statistic) < bound


def test_the_first_report_of_a_device_counts_also_after_it_was_handed_on(store: ShufflerStore) -> None:
    first, second = reports(2)
    again = first._replace(sealed=os.urandom(SEALED_BYTES))
    store.keep([first, again])
    store.keep([again, second])
    assert store.mix("films", 1, 2) == 2
    assert {*handed_on(store)[0]} == {first.sealed, second.sealed}
    store.keep([first, again, second])
    assert store.waiting("films", 1) == 0
    assert store.mix("films", 1, 1) == 0


def test_what_a_batch_holds_is_settled_before_it_is_sent(tmp_path: Path, store: ShufflerStore) -> None:
    """The shuffler dies with a batch half sent, and goes on: later reports do not join it."""
    sent = reports(5)
    store.keep(sent)
    assert store.mix("films", 1, 5) == 5
    before = store.next_piece("films")
    store.close()
    with closing(ShufflerStore(tmp_path / "s.sqlite")) as again:
        assert again.begin("films", 1, b"another") == b"asked"
        again.keep(reports(4))
        assert again.mix("films", 1, 5) == 0
        assert again.next_piece("films") == before
        store._connection, store._lock = again._connection, again._lock  # closed by the fixture


def test_a_round_that_is_over_is_forgotten_with_all_who_answered(
    tmp_path: Path, store: ShufflerStore
) -> None:
    sent = reports(700)
    store.keep(sent[:600])
    store.mix("films", 1, 600)
    store.keep(sent[600:])
    assert store.begin("films", 2, b"next") == b"next"
    assert store.next_piece("films") is None
    store.keep([sent[0], *reports(1, 2)])  # the first comes too late
    assert (store.waiting("films", 1), store.waiting("films", 2)) == (0, 1)
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert not any(report.device in files or report.sealed in files for report in sent)
    store.end("films")
    assert store.waiting("films", 2) == 0


def test_what_was_said_first_stays(store: ShufflerStore) -> None:
    assert store.pin_offer("films", '{"other": 1}') == "{}"
    assert store.begin("films", 1, b"other") == b"asked"
    store.begin("films", 3, b"third")
    assert store.begin("films", 2, b"second") == b"third"


def test_one_file_one_shuffler_and_no_other_programs_file(tmp_path: Path, store: ShufflerStore) -> None:
    with pytest.raises(SettingsInvalid, match="in use by another shuffler"):
        ShufflerStore(tmp_path / "s.sqlite")
    (tmp_path / "text").write_text("not a database, and long enough to be looked at " * 30)
    with pytest.raises(SettingsInvalid, match="cannot be used"):
        ShufflerStore(tmp_path / "text")
    with pytest.raises(SettingsInvalid, match="cannot be made"):
        ShufflerStore(tmp_path / "nowhere" / "s.sqlite")


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    first = read_key(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert read_key(tmp_path / "key").public_key == first.public_key
    (tmp_path / "bad").write_text("abc")
    with pytest.raises(SettingsInvalid, match="not a shuffler's key"):
        read_key(tmp_path / "bad")
    with pytest.raises(SettingsInvalid, match="cannot be made"):
        read_key(tmp_path / "nowhere" / "key")
