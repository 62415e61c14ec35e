"""Somebody with the collector's whole file tries to link two reports of one device, and to find out whose they are.

Devices answer twice, in two passes. What a linker could use is tried one by one: columns, names, times, order of
arrival, row ids, sizes, and the bytes of the file and its log.
"""

from __future__ import annotations

import hashlib
import itertools
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import spearmanr

from discreet.devices.device.shuffled import report_id
from discreet.devices.device.store import DeviceStore
from tests.devices.support.running import Running, wait_until
from tests.devices.support.shuffling import Device, Shuffling, make_devices, start_task

DEVICES = 48
SURE = 4.5  # standard deviations: one test in 300,000 fails by chance


class Linker(NamedTuple):
    """Everything there is: the stores as they were left, and the truth to compare with."""

    collector: Path
    shuffler: Path
    devices: list[Device]
    order: dict[int, list[bytes]]  # pseudonyms in the order in which they answered each round
    names: dict[int, dict[bytes, bytes]]  # names of reports by pseudonym
    files: bytes
    shuffler_files: bytes
    envelopes: list[bytes]


def read_all(*stores: Path) -> bytes:
    files = [file for store in stores for file in sorted(store.parent.glob(store.name + "*"))]
    return b"".join(file.read_bytes() for file in files)


@pytest.fixture(scope="module")
def linker(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    folder = tmp_path_factory.mktemp("links")
    settings = {"groups": 2, "passes": 2}
    store = folder / "collector" / "store.sqlite"
    store.parent.mkdir()
    with Running(store) as collector, Shuffling(folder, collector, batch=8, every=1000.0) as shuffler:
        key = start_task(collector, settings=settings)
        shuffler.wait_for(1)
        devices = make_devices(folder, shuffler, key, DEVICES)
        order: dict[int, list[bytes]] = {}
        names: dict[int, dict[bytes, bytes]] = {}
        envelopes: list[bytes] = []
        for number in range(1, 4):  # one group answers the second and the third
            shuffler.wait_for(number)
            question = collector.question()
            order[number] = [device.name for device in devices if device.answer().result == "answered"]
            for device in devices:
                with DeviceStore(device.file) as kept:
                    keys = kept.shuffled("films")
                assert keys is not None
                names.setdefault(number, {})[device.name] = report_id(keys.secret, question)
            envelopes += [
                row[0] for row in shuffler.rows("SELECT sealed FROM reports WHERE sealed IS NOT NULL")
            ]
            assert len(envelopes) >= 8
            shuffler.kill()
            shuffler.settings["every"] = 0.0
            shuffler.start()
            wait_until(lambda number=number: len(collector.kept(number)) == len(order[number]))
            wait_until(lambda: shuffler.rows("SELECT count(*) FROM pieces") == [(0,)])
            log = shuffler.store.with_name(shuffler.store.name + "-wal")
            wait_until(lambda log=log: log.stat().st_size == 0)
            files, shuffler_files = read_all(store), read_all(shuffler.store)
            shuffler.kill()
            shuffler.settings["every"] = 1000.0
            shuffler.start()
            if number < 3:
                assert collector.close(number)[0] == 200
        return Linker(store, shuffler.store, devices, order, names, files, shuffler_files, envelopes)


def rows(store: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute(query).fetchall()


def test_a_report_is_a_name_and_a_bit_and_nothing_else(linker: Linker) -> None:
    columns = [row[1] for row in rows(linker.collector, "PRAGMA table_info(reports)")]
    assert columns == ["task", "round", "device", "bit"]
    tables = {row[0] for row in rows(linker.collector, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {"tasks", "rounds", "reports", "keys"}
    for table in tables - {"reports"}:
        assert (
            len(rows(linker.collector, f"SELECT * FROM {table}")) <= 4
        )  # a row a task or round, none a report
    kinds = rows(linker.collector, "SELECT DISTINCT typeof(device), length(device), typeof(bit) FROM reports")
    assert kinds == [("blob", 16, "integer")]


def test_there_are_no_row_ids_and_rows_do_not_lie_in_the_order_they_came(linker: Linker) -> None:
    with pytest.raises(sqlite3.OperationalError, match="rowid"):
        rows(linker.collector, "SELECT rowid FROM reports")
    for number in linker.order:
        stored = [
            row[0] for row in rows(linker.collector, f"SELECT device FROM reports WHERE round = {number}")
        ]
        assert stored == sorted(stored)
        arrived = [linker.names[number][device] for device in linker.order[number]]
        assert sorted(arrived) == stored
        found = spearmanr([stored.index(name) for name in arrived], range(len(arrived))).statistic
        assert abs(found) < SURE / np.sqrt(len(arrived) - 1)


def test_no_name_is_used_twice_and_none_is_a_function_of_what_is_public(linker: Linker) -> None:
    stored = {
        number: {
            row[0] for row in rows(linker.collector, f"SELECT device FROM reports WHERE round = {number}")
        }
        for number in linker.order
    }
    for one, other in itertools.combinations(stored, 2):
        assert not stored[one] & stored[other]
    pseudonyms = {device.name for device in linker.devices}
    everything = set().union(*stored.values())
    assert not pseudonyms & everything
    public = [b"films", *(str(number).encode() for number in stored)]
    for name in (
        pseudonyms | everything
    ):  # what a careless device would do: hash what it has with what is known
        for salt in (b"", *public):
            for guess in (name + salt, salt + name):
                assert hashlib.sha256(guess).digest()[:16] not in everything - {name}


def test_names_of_one_device_are_no_closer_than_those_of_two(linker: Linker) -> None:
    """By any byte, by the bits they share and by their rank: of all pairs, the true ones do not stand out."""
    twice = [
        (linker.names[first][device], linker.names[second][device])
        for first, second in itertools.combinations(linker.order, 2)
        for device in set(linker.order[first]) & set(linker.order[second])
    ]
    assert len(twice) > DEVICES // 6
    bits = np.array([[np.unpackbits(np.frombuffer(name, np.uint8)) for name in pair] for pair in twice])
    same = (bits[:, 0] == bits[:, 1]).mean()
    assert abs(same - 0.5) < SURE * 0.5 / np.sqrt(bits[:, 0].size)
    ranks = [[int.from_bytes(name, "big") / 2.0**128 for name in pair] for pair in twice]
    found = spearmanr(*zip(*ranks, strict=True)).statistic
    assert abs(found) < SURE / np.sqrt(len(twice) - 1)


def test_the_collectors_files_have_no_trace_of_who_answered(linker: Linker) -> None:
    """The bytes of file and log: neither pseudonyms, nor secrets, nor what the shuffler held."""
    for device in linker.devices:
        with DeviceStore(device.file) as kept:
            keys = kept.shuffled("films")
        assert keys is not None
        for trace in (device.name, keys.secret):
            assert trace not in linker.files
            assert trace.hex().encode() not in linker.files
    for sealed in linker.envelopes:
        assert sealed not in linker.files
        assert sealed.hex().encode() not in linker.files
    stored = rows(linker.collector, "SELECT device FROM reports")
    assert any(name in linker.files for (name,) in stored)  # the search itself works


def test_the_collector_stores_hours_of_rounds_and_no_other_time(linker: Linker) -> None:
    hours = rows(linker.collector, "SELECT opened_hour, released_hour FROM rounds")
    assert all(hour is None or hour % 3600 == 0 for pair in hours for hour in pair)


def test_the_shuffler_forgets_what_it_handed_on(linker: Linker) -> None:
    """Neither names nor sealed reports are in its files, not even in pages that are free."""
    for names in linker.names.values():
        for name in names.values():
            assert name not in linker.shuffler_files
    for sealed in linker.envelopes:
        assert sealed not in linker.shuffler_files
    last = max(linker.order)
    assert any(
        device in linker.shuffler_files for device in linker.order[last]
    )  # who answered the open round
