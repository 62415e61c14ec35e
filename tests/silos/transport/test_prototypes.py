"""Private prototypes by real processes over TLS: one message up and one down for each silo, whatever is killed.

``DISCREET_KILLS`` sets how many kills there are; 4 by default.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from discreet.methods.prototypes import FactorSettings, PrivatePrototypes, PrototypeMessage, PrototypeSettings
from discreet.methods.prototypes.public.factorise import factorise
from discreet.privacy.pure.noise import PureNoise
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from tests.silos.transport.conftest import SILOS, Hall, Halls
from tests.silos.transport.test_kills import Reaper
from tests.silos.worlds import noise_key, parts

KILLS = int(os.environ.get("DISCREET_KILLS", "4"))
SETTINGS = PrototypeSettings(prototypes=4, users=100, dimension=4, support=10)


def hall_of(halls: Halls, **changes: Any) -> Hall:
    assert halls.ratings.catalogue is not None
    options: dict[str, Any] = {
        "silos": SILOS,
        "epsilon": 20.0,
        "catalogue": halls.ratings.catalogue,
        "rating_range": halls.ratings.rating_range,
        "settings": SETTINGS,
        "factors": FactorSettings(rank=3, rounds=5),
        "seed": 0,
    }
    return halls.open(PrototypeAgreement.make("a test", **(options | changes)))


def see_through(hall: Hall) -> None:
    for name in (*SILOS, "server"):
        assert hall.wait(name) == 0, hall.log(name)


@pytest.fixture(scope="module")
def calm(halls: Halls) -> Hall:
    """A whole run in which nothing went wrong."""
    hall = hall_of(halls)
    hall.start_all(deadly=-1)
    see_through(hall)
    return hall


def expected(hall: Hall, halls: Halls, *silos: str) -> bytes:
    agreement = hall.agreement
    assert isinstance(agreement, PrototypeAgreement)
    method, come = PrivatePrototypes(agreement.settings), []
    for name, part in zip(SILOS, parts(halls.ratings, len(SILOS)), strict=True):
        message = method.message(part, agreement.epsilon, noise=PureNoise(key=noise_key(name)))
        come += [PrototypeMessage.from_bytes(message.to_bytes())] if name in silos else []
    return replace(factorise(come, agreement.factors, agreement.seed), run=agreement.run_id).to_bytes()


def stored(hall: Hall, name: str, query: str) -> list[tuple[Any, ...]]:
    """What is on the disk of a party that is not running."""
    store = sqlite3.connect(hall.folder / f"{name}.db")
    try:
        return store.execute(query).fetchall()
    except sqlite3.OperationalError:  # killed before it had made its tables
        return []
    finally:
        store.close()


def test_the_factors_are_those_of_one_process(calm: Hall, halls: Halls) -> None:
    assert calm.model("factors")["factors.bin"] == expected(calm, halls, *SILOS)
    for name in SILOS:
        assert calm.model(f"{name}-factors")["factors.bin"] == calm.model("factors")["factors.bin"]


def test_one_message_up_and_one_down_for_each_silo(calm: Hall) -> None:
    for name in SILOS:
        wire = [json.loads(line) for line in (calm.folder / f"{name}.wire").read_text().splitlines()]
        [(letter,)] = stored(calm, name, "SELECT letter FROM outcome")
        assert [up for _, up, _ in wire if up] == [len(letter)]
        down = [size for what, _, size in wire if what == "question" and size]
        assert down == [len(calm.model("factors")["factors.bin"])]


def test_killed_anywhere_the_run_ends_as_if_nothing_had_happened(halls: Halls, calm: Hall) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    lines = {name: int((calm.folder / f"{name}.lines").read_text()) for name in ("server", *SILOS)}
    killed = 0
    while killed < KILLS:
        hall = hall_of(halls)
        reaper = Reaper(hall, lines, rng)
        reaper.see_through(min(4, KILLS - killed))
        killed += reaper.kills
        own = {"factors.bin": expected(hall, halls, *SILOS)}  # they name their run
        assert hall.model("factors") == calm.model("factors") | own
        assert hall.accounts() == calm.accounts()
        for name in SILOS:
            assert hall.model(f"{name}-factors") == calm.model(f"{name}-factors") | own
            assert stored(hall, name, "SELECT count(*) FROM outcome") == [(1,)]
    print(f"{killed} kills")


def test_what_was_kept_is_what_is_sent_and_nothing_else_was(halls: Halls, calm: Hall) -> None:
    """With real noise, so that a letter made twice would show."""
    rng = random.Random(5)
    lines = int((calm.folder / f"{SILOS[0]}.lines").read_text())
    hall = hall_of(halls)
    for name in ("server", *SILOS[1:]):
        hall.start(name, kind="fresh")
    seen: set[bytes] = set()
    for _ in range(max(KILLS // 2, 2)):
        hall.start(SILOS[0], kind="fresh", deadly=rng.randint(1, lines))
        code = hall.wait(SILOS[0])
        assert code in (0, -signal.SIGKILL), hall.log(SILOS[0])
        seen |= {letter for (letter,) in stored(hall, SILOS[0], "SELECT letter FROM outcome")}
        if code == 0:
            break
    else:
        hall.start(SILOS[0], kind="fresh")
    see_through_rest = [hall.wait(name) for name in list(hall.pids)]
    assert set(see_through_rest) <= {0}
    [(sent,)] = stored(hall, "server", f"SELECT letter FROM letters WHERE silo = '{SILOS[0]}'")
    assert seen <= {sent}
    assert stored(hall, SILOS[0], "SELECT letter FROM outcome") == [(sent,)]
    promise = json.loads(hall.model("factors")["statement.json"])
    assert promise["private"]
    assert (promise["epsilon"], promise["delta"], promise["epsilon_in_two"]) == (20.0, 0.0, 40.0)


def test_the_others_go_on_after_a_while(halls: Halls) -> None:
    hall = hall_of(halls)
    hall.start("server", drop_after=1.5, linger=0.5)
    hall.start(SILOS[1])
    assert [hall.wait(SILOS[1]), hall.wait("server")] == [0, 0]
    assert hall.model("factors")["factors.bin"] == expected(hall, halls, SILOS[1])


def test_a_server_that_asks_is_refused_and_one_of_another_run_too(halls: Halls) -> None:
    hall = hall_of(halls)
    hall.start("server", kind="asks")
    hall.start(SILOS[0])
    assert hall.wait(SILOS[0]) == 2
    assert "nothing to ask" in hall.log(SILOS[0])
    other = hall_of(halls, epsilon=21.0)
    other.port = hall.port
    other.start(SILOS[0])
    assert other.wait(SILOS[0]) == 2
    assert "compare agreements" in other.log(SILOS[0])
    for place in (hall, other):
        assert stored(place, SILOS[0], "SELECT * FROM outcome") == []
    hall.end()
