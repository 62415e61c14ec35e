"""A collector that changes its mind, and a shuffler that is killed: nothing is told apart that was mixed."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.devices.device.question import Question
from discreet.devices.device.shuffled import SEALED_BYTES
from discreet.devices.device.terms import Terms
from discreet.devices.device.transport import CollectorRefused, Unreachable
from discreet.devices.sealing import Opener, new_secret
from discreet.devices.shuffler.mixer import Mixer
from discreet.devices.shuffler.offer import Offer
from discreet.devices.shuffler.store import Kept, Piece, ShufflerStore
from discreet.errors import SettingsInvalid
from discreet.operations import Log
from tests.devices.support.running import SEED, Running, wait_until
from tests.devices.support.shuffling import Shuffling, make_devices, start_task

KILLS = int(os.environ.get("DISCREET_KILLS", "4"))


def question(number: int = 1, **changes: Any) -> Question:
    return Question("films", number, "popularity", 1.0, SEED, 1, 40, 0, (1.0, 5.0), **changes)


class Collector:
    """Stands in for a collector that does what it likes; what it is handed is remembered."""

    def __init__(self) -> None:
        terms = Terms("films", 2.0, 4, 40, (1.0, 5.0), "ab" * 32)
        self.said = {
            "terms": json.loads(terms.to_json()),
            "collector_key": Opener(new_secret()).public_key,
            "batch": 3,
            "delta": 1e-6,
            "answers": 2,
            "answer_epsilon": 1.0,
        }
        self.asked: Question | None = question()
        self.names = ["films"]
        self.fails: Exception | None = None
        self.handed: list[Piece] = []

    def tasks(self) -> list[str]:
        return self.names

    def offer(self, task: str) -> dict[str, Any] | None:
        return self.said

    def question(self, task: str) -> Question | None:
        return self.asked

    def hand_in(self, piece: Piece) -> dict[str, Any]:
        self.handed.append(piece)
        if self.fails is not None:
            raise self.fails
        return {"kept": len(piece.reports) // SEALED_BYTES, "refused": 0}


def keep(store: ShufflerStore, count: int, number: int = 1) -> None:
    store.keep([Kept("films", number, os.urandom(16), os.urandom(SEALED_BYTES)) for _ in range(count)])


Made = tuple[ShufflerStore, Mixer]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Made]]:
    """Shufflers one after another on one file, or each on its own; all are closed at the end."""
    stores: dict[str, ShufflerStore] = {}

    def one(collector: Any, fewest: int = 2, name: str = "s") -> Made:
        if name in stores:
            stores[name].close()
        stores[name] = ShufflerStore(tmp_path / f"{name}.sqlite")
        return stores[name], Mixer(stores[name], collector, fewest, 0.0, Log("shuffler", None))

    yield one
    for store in stores.values():
        store.close()


def test_the_larger_of_both_batches_is_waited_for(make: Callable[..., Made]) -> None:
    for fewest, wanted in ((2, 3), (5, 5)):
        collector = Collector()
        store, mixer = make(collector, fewest, f"of-{fewest}")
        mixer.look()
        keep(store, wanted - 1)
        mixer.look()
        assert collector.handed == []
        keep(store, 1)
        mixer.look()
        assert [len(piece.reports) for piece in collector.handed] == [wanted * SEALED_BYTES]


def test_a_batch_that_did_not_arrive_is_sent_again_unchanged(make: Callable[..., Made]) -> None:
    collector = Collector()
    store, mixer = make(collector)
    mixer.look()
    keep(store, 4)
    collector.fails = Unreachable("gone")
    mixer.look()
    assert mixer.trouble == "gone"
    keep(store, 2)
    mixer.look()
    collector.fails = None
    mixer.look()
    assert len(collector.handed) == 3
    assert len(set(collector.handed)) == 1
    assert len(collector.handed[0].reports) == 4 * SEALED_BYTES
    collector.fails = CollectorRefused(410, "too late")
    keep(store, 3)
    mixer.look()
    assert store.next_piece("films") is None


@pytest.mark.parametrize(
    "change",
    [
        {"collector_key": "cd" * 32},
        {"batch": 2},
        {"delta": 1e-3},
        {"answers": 3},
    ],
)
def test_a_collector_that_says_other_things_later_gets_nothing(
    make: Callable[..., Made], change: dict[str, Any]
) -> None:
    collector = Collector()
    store, mixer = make(collector)
    mixer.look()
    keep(store, 2)
    collector.said = {**collector.said, **change}
    store, mixer = make(collector)
    keep(store, 4)
    mixer.look()
    assert mixer.tasks == {}
    assert collector.handed == []


def test_a_task_is_there_when_its_question_is(make: Callable[..., Made]) -> None:
    """After a restart a task without its question would look like one that has ended, and answers would be lost."""

    class Watched(Collector):
        def question(self, task: str) -> Question | None:
            seen.append(dict(mixer.tasks))
            return super().question(task)

    seen: list[dict[str, Any]] = []
    _, mixer = make(Watched())
    mixer.look()
    assert seen == [{}]
    assert mixer.tasks["films"].question == question()
    mixer.look()
    assert list(seen[1]) == ["films"]


@pytest.mark.parametrize(
    "other", [question(seed_=1) if False else question(participants=(0, 2)), question(1)]
)
def test_one_round_has_one_question(make: Callable[..., Made], other: Question) -> None:
    collector = Collector()
    store, mixer = make(collector)
    mixer.look()
    collector.asked = other
    keep(store, 3)
    mixer.look()
    changed = other != question()
    assert (mixer.tasks["films"].trouble is not None) == changed
    assert bool(collector.handed) != changed


def test_a_question_that_costs_more_or_a_round_that_is_over_is_refused(make: Callable[..., Made]) -> None:
    collector = Collector()
    _, mixer = make(collector)
    collector.asked = Question("films", 1, "popularity", 1.5, SEED, 1, 40, 0, (1.0, 5.0))
    mixer.look()
    assert "costs other than was said" in (mixer.tasks["films"].trouble or "")
    collector.asked = question(2)
    _, mixer = make(collector, name="another")
    mixer.look()
    collector.asked = question(1)
    mixer.look()
    assert "is over" in (mixer.tasks["films"].trouble or "")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"answer_epsilon": 0.5}, "more answers than the collector counts"),
        ({"answers": 1}, "more answers than the collector counts"),
        ({"collector_key": "x"}, "collector_key"),
        ({"batch": 1}, "batch"),
        ({"delta": 0.0}, "delta"),
    ],
)
def test_an_offer_that_promises_too_much_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsInvalid, match=why):
        Offer.from_fields("films", {**Collector().said, **change})


def test_of_another_task_neither() -> None:
    with pytest.raises(SettingsInvalid, match="another task"):
        Offer.from_fields("books", Collector().said)


@pytest.mark.timeout(300 + 30 * KILLS)
def test_killed_again_and_again_nothing_is_lost_and_nothing_counts_twice(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as collector, Shuffling(tmp_path, collector, batch=3) as shuffler:
        key = start_task(collector, settings={"groups": 2, "passes": 2})
        shuffler.wait_for(1)
        asked = collector.question()
        devices = [d for d in make_devices(tmp_path, shuffler, key, 6 * KILLS) if asked.takes_part(d.name)]
        acknowledged: set[bytes] = set()

        def answer() -> None:
            for device in devices:
                while True:
                    try:
                        if device.answer().result in ("answered", "already answered"):
                            break
                    except OSError:
                        continue
                acknowledged.add(device.name)

        working = threading.Thread(target=answer)
        working.start()
        for kill in range(KILLS):
            wait_until(lambda least=kill: len(acknowledged) >= min(least, len(devices)))
            threading.Event().wait(random.uniform(0.0, 0.05))
            shuffler.kill()
            shuffler.start()
        working.join()

        def settled() -> bool:
            waits = shuffler.rows("SELECT count(sealed) FROM reports")[0][0]
            return bool(waits < 3 and shuffler.rows("SELECT count(*) FROM pieces") == [(0,)])

        wait_until(settled)
        waits = shuffler.rows("SELECT count(sealed), count(*) FROM reports")[0]
        assert waits[1] == len(devices) == len(acknowledged)
        assert len(collector.kept()) == len(devices) - waits[0]
