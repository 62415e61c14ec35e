"""Real devices, a real shuffler and a real collector: whole rounds, and what each of the two refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.devices.device.answer import truth
from discreet.devices.device.client import join
from discreet.devices.device.hpke import seal
from discreet.devices.device.shuffled import envelope, report_id, report_info
from discreet.devices.device.store import DeviceStore
from discreet.devices.device.terms import TermsInvalid
from discreet.devices.device.transport import CollectorRefused, Connection
from discreet.devices.sealing import Opener, new_secret
from tests.devices.support.running import Running, asked_devices, wait_until
from tests.devices.support.shuffling import Device, Shuffling, make_devices, start_task

PASSES = {"groups": 2, "passes": 2}


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("collector") / "store.sqlite") as running:
        yield running


@pytest.fixture(scope="module")
def shuffler(tmp_path_factory: pytest.TempPathFactory, collector: Running) -> Iterator[Shuffling]:
    with Shuffling(tmp_path_factory.mktemp("shuffler"), collector) as running:
        yield running


def test_two_rounds_through_the_shuffler_end_in_a_release(tmp_path: Path) -> None:
    """At epsilon 20 a bit is the truth, so it can be checked that it is counted where the device meant it."""
    with Running(tmp_path / "s.sqlite") as collector, Shuffling(tmp_path, collector) as shuffler:
        key = start_task(collector, epsilon=20.0)
        shuffler.wait_for(1)
        devices = make_devices(tmp_path, shuffler, key, 30)
        for number in (1, 2):
            shuffler.wait_for(number)
            question = collector.question()
            answered = [device for device in devices if device.answer().result == "answered"]
            assert len(answered) > 2
            least = len(answered) - 1  # one may be left over
            wait_until(lambda number=number, least=least: len(collector.kept(number)) >= least)
            kept = collector.kept(number)
            wrong = checked = 0
            for device in answered:
                with DeviceStore(device.file) as store:
                    keys, ratings = store.shuffled("films"), store.ratings()
                assert keys is not None
                name = report_id(keys.secret, question)
                value = truth(question, list(ratings), list(ratings.values()), name)
                if name in kept and value:
                    checked += 1
                    wrong += kept[name] != (value > 0.0)
            assert (wrong, checked > 2) == (0, True)
            assert not {device.name for device in devices} & kept.keys()
            assert collector.close(number)[0] == 200
        wait_until(lambda: shuffler.ask("GET", "/v1/tasks/films/question")[0] == 410)
        assert (
            shuffler.ask("GET", "/v1/tasks/films/released/2")[1]
            == (collector.ask("GET", "/v1/tasks/films/released/2")[1])
        )
        assert devices[0].answer().result == "task has ended"
        assert shuffler.rows("SELECT count(*) FROM reports") == [(0,)]
        assert shuffler.rows("SELECT count(*) FROM pieces") == [(0,)]


def test_nothing_is_handed_on_below_the_batch_and_a_device_counts_once(
    tmp_path: Path, collector: Running
) -> None:
    with Shuffling(tmp_path, collector, batch=4) as shuffler:
        key = start_task(collector, task="few", settings=PASSES)
        shuffler.wait_for(1, "few")
        sent = 0
        for number in range(1000):
            device = Device(tmp_path / f"{number}.sqlite", shuffler.url, key, {1: 5.0}, "few")
            if device.answer().result != "answered":
                continue
            sent += 1
            if sent == 3:
                break
        with DeviceStore(device.file) as store, Connection(shuffler.url) as wire:
            keys, question = store.shuffled("few"), collector.question("few")
            assert keys is not None
            for _ in range(3):  # sealed anew each time, and still one device
                wire.post("/v1/reports", envelope(keys, question, device.name, 1))
        looks = shuffler.ask("GET", "/metrics")[1].decode()
        assert 'discreet_shuffler_waiting_reports{task="few"} 3' in looks
        assert collector.ask("GET", "/v1/tasks/few/count")[1] == (
            b'{"task":"few","round":1,"reports":0,"minimum":1}'
        )
        while (
            Device(tmp_path / "last.sqlite", shuffler.url, key, {1: 5.0}, "few").answer().result != "answered"
        ):
            (tmp_path / "last.sqlite").unlink()

        def count() -> int:
            return int(json.loads(collector.ask("GET", "/v1/tasks/few/count")[1])["reports"])

        wait_until(lambda: count() == 4)
        assert shuffler.rows("SELECT count(*), count(sealed) FROM reports") == [(4, 0)]


def test_a_device_joins_only_with_the_collectors_own_key(
    tmp_path: Path, collector: Running, shuffler: Shuffling
) -> None:
    key = start_task(collector, task="keys")
    shuffler.wait_for(1, "keys")
    with DeviceStore(tmp_path / "me.sqlite") as store, Connection(shuffler.url) as wire:
        with pytest.raises(TermsInvalid, match="another key"):
            join(store, wire, "keys", 4.0, collector_key=Opener(new_secret()).public_key)
        with pytest.raises(CollectorRefused, match="join with the collector's key"):
            join(store, wire, "keys", 4.0)
        assert store.tasks() == []
        join(store, wire, "keys", 4.0, collector_key=key)
        join(store, wire, "keys", 4.0, collector_key=key)
        with Connection(collector.url) as direct, pytest.raises(TermsInvalid, match="with and without"):
            join(store, direct, "keys", 4.0)
    with DeviceStore(tmp_path / "other.sqlite") as store, Connection(collector.url) as direct:
        join(store, direct, "keys", 4.0)
        with Connection(shuffler.url) as wire, pytest.raises(TermsInvalid, match="with and without"):
            join(store, wire, "keys", 4.0, collector_key=key)


def test_the_collector_takes_reports_of_a_shuffled_task_from_its_shuffler_alone(
    tmp_path: Path, collector: Running
) -> None:
    start_task(collector, task="direct")
    assert collector.report(b"\1" * 16, 1, task="direct") == (
        403,
        b'{"error": "answers to this task go through its shuffler, sealed"}',
    )
    with Running(tmp_path / "s.sqlite", shuffler_token="0123456789abcdef") as guarded:
        start_task(guarded)
        batch = {"task": "films", "round": 1, "reports": "00" * 65}
        assert guarded.ask("POST", "/v1/batches", batch)[0] == 401
        said = guarded.ask("POST", "/v1/batches", batch, {"authorization": "Bearer 0123456789abcdef"})
        assert said == (200, b'{"kept":0,"refused":1}')
        assert guarded.kept() == {}


def test_what_is_in_a_batch_is_looked_at_one_by_one(collector: Running) -> None:
    """A shuffler that makes up reports gets no further than devices that do."""
    key = bytes.fromhex(start_task(collector, task="batches"))
    question = collector.question("batches")
    inside = asked_devices(question)
    outside = next(name for name in iter(lambda: os.urandom(16), b"") if not question.takes_part(name))
    good, twice = next(inside), next(inside)

    def hand_in(*reports: bytes, **changes: object) -> tuple[int, dict[str, object]]:
        content = {"task": "batches", "round": 1, "reports": b"".join(reports).hex(), **changes}
        status, body = collector.ask("POST", "/v1/batches", content)
        return status, json.loads(body)

    def sealed(record: bytes, number: int = 1) -> bytes:
        return seal(key, report_info("batches", number), record)

    assert hand_in(
        sealed(good + b"\1"),
        sealed(outside + b"\1"),
        sealed(next(inside) + b"\2"),
        sealed(next(inside) + b"\1", 2),
        os.urandom(65),
        sealed(twice + b"\0"),
        sealed(twice + b"\1"),
    ) == (200, {"kept": 2, "refused": 5})
    assert collector.rows(
        "SELECT device, bit FROM reports JOIN tasks ON id = reports.task WHERE tasks.task = 'batches' ORDER BY bit"
    ) == [(twice, 0), (good, 1)]
    assert hand_in(sealed(good + b"\1")) == (200, {"kept": 1, "refused": 0})  # sent again
    for changes, status in (
        ({"round": 2}, 409),
        ({"task": "nobody"}, 404),
        ({"reports": ""}, 422),
        ({"reports": "00" * 64}, 422),
        ({"reports": "00" * 65 * 510}, 413),
        ({"from": "me"}, 422),
    ):
        assert hand_in(sealed(good + b"\1"), **changes)[0] == status
    assert collector.close(1, "batches")[0] == 200
    assert hand_in(sealed(good + b"\1"))[0] == 410
    collector.create(task="plain")
    assert hand_in(sealed(good + b"\1"), task="plain")[0] == 403


def test_what_cannot_be_opened_is_refused_and_so_is_another_round(
    tmp_path: Path, collector: Running, shuffler: Shuffling
) -> None:
    key = start_task(collector, task="sealed")
    shuffler.wait_for(1, "sealed")
    device = Device(tmp_path / "me.sqlite", shuffler.url, key, {}, "sealed")
    while not collector.question("sealed").takes_part(device.name):
        device.file.unlink()
        device = Device(tmp_path / "me.sqlite", shuffler.url, key, {}, "sealed")
    with DeviceStore(device.file) as store:
        keys = store.shuffled("sealed")
    assert keys is not None
    good = envelope(keys, collector.question("sealed"), device.name, 1)
    for changes, status in (
        ({"envelope": "00" * 129}, 422),
        ({"envelope": good["envelope"][:-2]}, 422),
        ({"round": 2}, 409),
        ({"task": "nobody"}, 404),
        ({"device": device.name.hex()}, 422),
    ):
        assert shuffler.ask("POST", "/v1/reports", {**good, **changes})[0] == status
    other = {**good, "envelope": envelope(keys, collector.question("sealed"), b"\0" * 16, 1)["envelope"]}
    if not collector.question("sealed").takes_part(b"\0" * 16):
        assert shuffler.ask("POST", "/v1/reports", other)[0] == 403
    assert shuffler.ask("POST", "/v1/reports", good)[0] == 200


def test_what_a_device_is_told_is_the_central_promise_for_the_shufflers_own_batches(
    collector: Running, shuffler: Shuffling
) -> None:
    start_task(collector, task="promise", shuffle={"batch": 5000, "delta": 1e-6}, minimum=5000)
    shuffler.wait_for(1, "promise")
    said = json.loads(shuffler.ask("GET", "/v1/tasks/promise/shuffle")[1])
    assert said["batch"] == 5000
    assert said["central_epsilon"] < said["terms"]["epsilon"] == 4.0
    assert said["delta"] == 1e-6
    assert any("do not work together" in entry for entry in said["assumes"])
    assert any("5000 reports are from honest devices" in entry for entry in said["assumes"])
