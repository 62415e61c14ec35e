"""Private prototypes by real processes over TLS: one message up and one down for each silo, whatever is killed."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
from collections import Counter
from typing import Any

import pytest

from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import build_model
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.model import Model
from discreet.privacy.pure.noise import PureNoise
from discreet.silos.shared.model_message import encode_model
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from tests.silos.transport.conftest import SILOS, Hall, Halls, key_in, signing
from tests.silos.transport.test_kills import SIDES, Reaper
from tests.silos.worlds import noise_key, parts
from tests.sizes import sized

KILLS = sized(2, 20)
SETTINGS = PrototypeSettings.from_preset("swap", prototypes=4, users=100, dimension=4, support=10)


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
        **signing(halls.tls),
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


def expected(hall: Hall, halls: Halls, *silos: str) -> Model:
    """The model made in one process."""
    agreement = hall.agreement
    assert isinstance(agreement, PrototypeAgreement)
    method, come = PrivatePrototypes(agreement.settings), []
    for name, part in zip(SILOS, parts(halls.ratings, len(SILOS)), strict=True):
        message = method.message(part, agreement.epsilon, noise=PureNoise(key=noise_key(name)))
        come += [PrototypeMessage.from_bytes(message.to_bytes())] if name in silos else []
    assert halls.ratings.catalogue is not None
    return build_model(come, halls.ratings.catalogue, agreement.factors, agreement.seed)


def stored(hall: Hall, name: str, query: str) -> list[tuple[Any, ...]]:
    """What is on the disk of a party that is not running."""
    store = sqlite3.connect(hall.folder / f"{name}.db")
    try:
        return store.execute(query).fetchall()
    except sqlite3.OperationalError:  # killed before it had made its tables
        return []
    finally:
        store.close()


def check_model(hall: Hall, halls: Halls, *silos: str) -> None:
    model, wanted = Model.load(hall.folder / "model"), expected(hall, halls, *silos)
    assert model.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
    assert model.statement == wanted.statement
    assert model.method == "prototypes"


def test_the_model_is_that_of_one_process(calm: Hall, halls: Halls) -> None:
    check_model(calm, halls, *SILOS)
    for name in SILOS:
        assert calm.model(f"{name}-model") == calm.model()


def test_one_message_up_and_one_down_for_each_silo(calm: Hall) -> None:
    agreement = calm.agreement
    sent = encode_model(Model.load(calm.folder / "model"), agreement)
    sealed = len(key_in(calm.tls / "server", agreement, "").seal("model", sent))
    asked = len(key_in(calm.tls / "server", agreement, "").seal("question", b""))
    for name in SILOS:
        wire = [json.loads(line) for line in (calm.folder / f"{name}.wire").read_text().splitlines()]
        [(message,)] = stored(calm, name, "SELECT message FROM outcome")
        own = key_in(calm.tls / "silos" / name, agreement, name)
        up = [("answer", len(own.seal("answer", message)))]
        assert [(what, size) for what, size, _ in wire if size] == up
        assert [size for what, _, size in wire if what == "question" and size] == [asked, sealed]


def test_killed_anywhere_the_run_ends_as_if_nothing_had_happened(halls: Halls, calm: Hall) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    lines = {name: int((calm.folder / f"{name}.lines").read_text()) for name in ("server", *SILOS)}
    killed: Counter[str] = Counter()
    while min(killed[side] for side in SIDES) < KILLS:
        hall = hall_of(halls)
        reaper = Reaper(hall, lines, rng)
        reaper.see_through(min(10, KILLS))
        killed += reaper.kills
        assert hall.model() == calm.model()
        assert hall.accounts() == calm.accounts()
        for name in SILOS:
            assert hall.model(f"{name}-model") == calm.model()
            assert stored(hall, name, "SELECT count(*) FROM outcome") == [(1,)]
    print(f"{dict(killed)} kills")


def test_what_was_kept_is_what_is_sent_and_nothing_else_was(halls: Halls, calm: Hall) -> None:
    """With real noise, so that a message made twice would show."""
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
        seen |= {message for (message,) in stored(hall, SILOS[0], "SELECT message FROM outcome")}
        if code == 0:
            break
    else:
        hall.start(SILOS[0], kind="fresh")
    see_through_rest = [hall.wait(name) for name in list(hall.pids)]
    assert set(see_through_rest) <= {0}
    [(sent,)] = stored(hall, "server", f"SELECT message FROM messages WHERE silo = '{SILOS[0]}'")
    assert seen <= {sent}
    assert stored(hall, SILOS[0], "SELECT message FROM outcome") == [(sent,)]
    statement = Model.load(hall.folder / "model").statement
    assert statement.private
    assert statement.silos is not None
    assert (statement.epsilon, statement.delta, statement.silos.epsilon_in_two) == (20.0, 0.0, 40.0)


def test_the_others_go_on_after_a_while(halls: Halls) -> None:
    hall = hall_of(halls)
    hall.start("server", drop_after=1.5)
    hall.start(SILOS[1])
    assert [hall.wait(SILOS[1]), hall.wait("server")] == [0, 0]
    check_model(hall, halls, SILOS[1])


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
