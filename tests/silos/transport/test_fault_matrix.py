"""Every fault, at every step, with both methods, by file: the right model or a refusal in words, and honest ledgers.

Over the network the same bytes travel; the tests of kills, impostors, lies and dropouts do it with processes.
``make check`` tries every round, ``make test`` the first and the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Model
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.silos.shared.agreements import AnyAgreement
from discreet.silos.shared.messages import AnswerMessage
from discreet.silos.shared.prototypes import PrototypeAgreement
from discreet.silos.shared.signing import SERVER, open_seal
from tests.silos.transport.conftest import SILOS, Halls, signing
from tests.silos.transport.tables import Table, refused
from tests.sizes import FULL

ROUNDS = range(4) if FULL else (0, 3)
CELLS = [("budgeted", round_) for round_ in ROUNDS] + [("prototypes", 0)]
BAD, OTHER = SILOS[1], SILOS[0]
Cell = tuple[str, int]


def agreed(halls: Halls, method: str) -> AnyAgreement:
    if method != "prototypes":
        return halls(honest=2).agreement
    assert halls.ratings.catalogue is not None
    options: dict[str, Any] = {
        "settings": PrototypeSettings(prototypes=4, users=100, dimension=4, support=10),
        "factors": FactorSettings(rank=3, rounds=5),
        "seed": 0,
        "catalogue": halls.ratings.catalogue,
        "rating_range": halls.ratings.rating_range,
    }
    return PrototypeAgreement.make("a test", silos=SILOS, epsilon=20.0, **options, **signing(halls.tls))


@pytest.fixture(scope="module")
def calm(halls: Halls, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[AnyAgreement, Model]]:
    """Of each method an agreement, and the model of a run in which nothing went wrong."""
    made = {}
    for method in ("budgeted", "prototypes"):
        agreement = agreed(halls, method)
        table = Table(halls, tmp_path_factory.mktemp(method), agreement)
        made[method] = agreement, table.finish()
        table.check_ledgers()
        table.close()
    return made


def label(cell: Cell) -> str:
    return f"{cell[0]}-round-{cell[1]}"


@pytest.fixture(params=CELLS, ids=label)
def cell(request: pytest.FixtureRequest) -> Cell:
    found: Cell = request.param
    return found


@pytest.fixture
def table(cell: Cell, halls: Halls, calm: dict[str, Any], tmp_path: Path) -> Iterator[Table]:
    made = Table(halls, tmp_path, calm[cell[0]][0])
    yield made
    made.close()


def same(one: Model, other: Model) -> None:
    assert one.item_side.factors.tobytes() == other.item_side.factors.tobytes()
    assert one.item_side.offsets.tobytes() == other.item_side.offsets.tobytes()
    assert one.statement == other.statement


def silo_killed(table: Table) -> None:
    first = table.answer(BAD)
    table.kill(BAD)
    assert table.answer(BAD) == first
    table.take(first)


def server_killed(table: Table) -> None:
    message = table.answer(BAD)
    table.kill(SERVER)
    table.take(message)
    table.kill(SERVER)


def duplicated(table: Table) -> None:
    message = table.answer(BAD)
    table.take(message)
    assert table.take(message)["repeated"]


def late(table: Table) -> None:
    message = table.answer(BAD)
    for name in table.coordinator.status()["waiting_for"]:
        if name != BAD:
            table.take(table.answer(name))
    table.take(message)


def garbled(table: Table) -> None:
    message = bytearray(table.answer(BAD))
    for place in (3, 20, len(message) // 2, len(message) - 1):
        spoilt = bytearray(message)
        spoilt[place] ^= 0x55
        refused(lambda spoilt=spoilt: table.take(bytes(spoilt)))  # type: ignore[misc]
    refused(lambda: table.take(bytes(message[:-1])))
    table.take(bytes(message))


def impersonated(table: Table) -> None:
    message = table.answer(BAD)
    body = open_seal(table.agreement, message, "answer").body
    refused(lambda: table.take(body))
    refused(lambda: table.take(table.keys[OTHER].seal("answer", body)))
    table.take(message)


def replayed(table: Table) -> None:
    """What was sent before, and what was sent in another run of the same people."""
    message = table.answer(BAD)
    for old in [one for one in table.paid[BAD] if one != message]:
        assert table.take(old)["repeated"]
    others = table.agreement.model_copy(update={"nonce": "0" * 64})
    other = Table(table.halls, table.folder / "other", type(others).parse(others.model_dump_json().encode()))
    refused(lambda: table.take(other.answer(BAD)))
    other.close()
    table.take(message)


HARMLESS: dict[str, Callable[[Table], None]] = {
    made.__name__: made
    for made in (silo_killed, server_killed, duplicated, late, garbled, impersonated, replayed)
}


@pytest.mark.parametrize("fault", HARMLESS)
def test_what_can_be_made_good_leaves_no_trace(
    fault: str, table: Table, cell: Cell, calm: dict[str, Any]
) -> None:
    def tamper(round_: int, name: str) -> bool:
        status = table.coordinator.status()
        if (round_, name) != (cell[1], BAD) or name not in status["waiting_for"]:
            return name not in status["waiting_for"]
        HARMLESS[fault](table)
        done.append(fault)
        return True

    done: list[str] = []
    same(table.finish(tamper), calm[cell[0]][1])
    assert done
    table.check_ledgers()


def lost(table: Table) -> None:
    table.kill(BAD)


def nonsense(table: Table) -> None:
    """Signed by the silo itself, and no answer to anything."""
    message = table.answer(BAD)
    opened = open_seal(table.agreement, message, "answer")
    if isinstance(table.agreement, PrototypeAgreement):
        wrong = opened.body[:-8]
        refused(lambda: table.take(table.keys[BAD].seal("answer", wrong)))
        return
    answer = AnswerMessage.decode(opened.body, table.agreement)
    wrong = replace(answer, masked=answer.masked * np.uint64(3)).encode()
    table.take(table.keys[BAD].seal("answer", wrong))
    for name in table.coordinator.status()["waiting_for"]:
        table.take(table.answer(name))
    refused(table.question)


DAMAGE: dict[str, Callable[[Table], None]] = {made.__name__: made for made in (lost, nonsense)}


@pytest.mark.parametrize("fault", DAMAGE)
def test_what_cannot_be_made_good_ends_in_words_or_without_the_silo(
    fault: str, table: Table, cell: Cell
) -> None:
    done = False

    def tamper(round_: int, name: str) -> bool:
        nonlocal done
        if done or (round_, name) != (cell[1], BAD):
            return done and name not in table.coordinator.status()["waiting_for"]
        done = True
        DAMAGE[fault](table)
        table.check_ledgers()
        table.kill(SERVER)
        if cell == ("budgeted", 3):  # nothing is left to pay the last round again with
            assert "cannot be repeated" in refused(lambda: table.coordinator.drop(BAD))
            table.coordinator.finish_early()
        else:
            table.coordinator.drop(BAD)
        table.kill(SERVER)
        return True

    statement = table.finish(tamper).statement
    assert not statement.private, "the noise has fixed keys"
    assert BAD not in table.coordinator.status()["roster"] or cell == ("budgeted", 3)
    table.check_ledgers()
