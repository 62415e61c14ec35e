"""Every fault at every round, in both kinds of runs, by file: the right model or a refusal, and honest ledgers.

Over the network the same bytes travel; the tests of kills, impostors, lies and dropouts do it with processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Model
from discreet.errors import Refused
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.shared.agreement import Agreement, AnyAgreement, PrototypeAgreement
from discreet.silos.shared.messages import AnswerMessage
from discreet.silos.shared.signing import SERVER, open_seal
from tests.silos.transport.conftest import SILOS, Halls, signing
from tests.silos.transport.tables import AnyRun, Table, refused

METHODS = ("budgeted", "prototypes")
LAST = 3
"""Round of a run of sums after which nothing is left to pay a repeat with."""
BAD, OTHER = SILOS[1], SILOS[0]
Calm = dict[str, tuple[AnyAgreement, Model]]


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
def calm(halls: Halls, tmp_path_factory: pytest.TempPathFactory) -> Calm:
    """Of each method an agreement, and the model of a run in which nothing went wrong."""
    made = {}
    for method in METHODS:
        agreement = agreed(halls, method)
        table = Table(halls, tmp_path_factory.mktemp(method), agreement)
        made[method] = agreement, table.finish()
        table.check_ledgers()
        table.close()
    return made


def another_run(table: Table) -> Table:
    """Of the same people, on the same terms."""
    others = table.agreement.model_copy(update={"nonce": "0" * 64})
    return Table(table.halls, table.folder / "other", type(others).parse(others.model_dump_json().encode()))


def altered(message: bytes) -> list[bytes]:
    """Not as it was signed."""
    spoilt = [bytearray(message) for _ in range(4)]
    for one, place in zip(spoilt, (3, 20, len(message) // 2, len(message) - 1), strict=True):
        one[place] ^= 0x55
    return [message[:-1], *map(bytes, spoilt)]


def same(one: Model, other: Model) -> None:
    assert one.item_side.factors.tobytes() == other.item_side.factors.tobytes()
    assert one.item_side.offsets.tobytes() == other.item_side.offsets.tobytes()
    assert one.statement == other.statement


def silo_killed(table: Table, message: bytes) -> None:
    table.kill(BAD)
    assert table.answer(BAD) == message


def server_killed(table: Table, message: bytes) -> None:
    table.kill(SERVER)


def late(table: Table, message: bytes) -> None:
    for name in table.coordinator.status()["waiting_for"]:
        if name != BAD:
            table.take(table.answer(name))


def garbled(table: Table, message: bytes) -> None:
    for wrong in altered(message):
        refused(lambda wrong=wrong: table.take(wrong))  # type: ignore[misc]


def impersonated(table: Table, message: bytes) -> None:
    body = open_seal(table.agreement, message, "answer").body
    refused(lambda: table.take(body))
    refused(lambda: table.take(table.keys[OTHER].seal("answer", body)))


def replayed(table: Table, message: bytes) -> None:
    """What was sent before, and what was sent in another run."""
    for old in [one for one in table.paid[BAD] if one != message]:
        assert table.take(old)["repeated"]
    other = another_run(table)
    refused(lambda: table.take(other.answer(BAD)))
    other.close()


def duplicated(table: Table, message: bytes) -> None:
    table.take(message)
    table.kill(SERVER)  # after the last answer of the round, and before its release
    assert table.take(message)["repeated"]


HARMLESS = (silo_killed, server_killed, garbled, impersonated, replayed, late, duplicated)


@pytest.mark.parametrize("method", METHODS)
def test_what_can_be_made_good_leaves_no_trace(method: str, halls: Halls, calm: Calm, tmp_path: Path) -> None:
    agreement, undisturbed = calm[method]
    table, rounds = Table(halls, tmp_path, agreement), set[int]()

    def tamper(round_: int, name: str) -> bool:
        if round_ not in rounds and name == BAD:
            rounds.add(round_)
            message = table.answer(BAD)
            for fault in HARMLESS:
                fault(table, message)
        return name not in table.coordinator.status()["waiting_for"]

    same(table.finish(tamper), undisturbed)
    assert rounds == set(range(1) if method == "prototypes" else range(LAST + 1))
    table.check_ledgers()
    table.close()


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
@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_made_good_ends_in_words_or_without_the_silo(
    fault: str, method: str, halls: Halls, calm: Calm, tmp_path: Path
) -> None:
    """In the last round, where nothing is left to pay it again with; before that the tests of dropouts do it."""
    table, done = Table(halls, tmp_path, calm[method][0]), False

    def tamper(round_: int, name: str) -> bool:
        nonlocal done
        if done or name != BAD or (method == "budgeted" and round_ < LAST):
            return done and name not in table.coordinator.status()["waiting_for"]
        done = True
        DAMAGE[fault](table)
        table.check_ledgers()
        table.kill(SERVER)
        if method == "budgeted":
            assert "cannot be repeated" in refused(lambda: table.coordinator.drop(BAD))
            table.coordinator.finish_early()
        else:
            table.coordinator.drop(BAD)
        table.kill(SERVER)
        return True

    statement = table.finish(tamper).statement
    assert not statement.private, "the noise has fixed keys"
    assert (BAD in table.coordinator.status()["roster"]) == (method == "budgeted")
    table.check_ledgers()
    table.close()


def spent(table: Table) -> dict[str, float]:
    return {name: float(table.silo(name).status()["epsilon_spent"]) for name in SILOS}


def said(table: Table, name: str, question: bytes) -> bytes | str:
    """What a silo sends; or why not, in the few words that matter."""
    try:
        return table.ask(name, question)
    except Refused as error:
        return "no longer kept" if "no longer kept" in str(error) else str(error)


def spoil(table: Table, question: bytes, asked: list[bytes]) -> None:
    """What was altered, signed by a silo or not at all, asked before, or of another run of the same people."""
    body = open_seal(table.agreement, question, "question").body
    other = another_run(table)
    foreign = other.question()
    other.close()
    assert foreign is not None
    signed = [table.keys[OTHER].seal("question", body), table.server_key.seal("model", body)]
    for wrong in (*altered(question), body, *signed, foreign):
        refused(lambda wrong=wrong: table.ask(BAD, wrong))  # type: ignore[misc]
    for old in asked[:-1]:
        assert said(table, BAD, old) in {*table.paid[BAD], "no longer kept"}


@pytest.mark.parametrize("method", METHODS)
def test_at_every_step_what_is_wrong_is_refused_free_of_charge_and_the_run_goes_on(
    method: str, halls: Halls, calm: Calm, tmp_path: Path
) -> None:
    agreement, undisturbed = calm[method]
    table, asked, steps = Table(halls, tmp_path, agreement), [], set[int]()

    def tamper(round_: int, name: str) -> bool:
        question = table.question()
        assert question is not None
        if question not in asked:
            asked.append(question)
        # The second in turn: one silo has answered the question before anything is wrong with it.
        if name == BAD and name in table.coordinator.status()["waiting_for"]:
            before = spent(table)
            spoil(table, question, asked)
            assert spent(table) == before
            steps.add(round_)
        return False

    same(table.finish(tamper), undisturbed)
    table.check_ledgers()
    assert steps == set(range(1) if method == "prototypes" else range(LAST + 1))
    table.close()


@pytest.mark.parametrize("method", METHODS)
def test_a_second_server_gets_nothing_that_the_first_has_not(
    method: str, halls: Halls, calm: Calm, tmp_path: Path
) -> None:
    """Of the same agreement, with the same keys and a store of its own, it begins from the start."""
    agreement, undisturbed = calm[method]
    table = Table(halls, tmp_path, agreement)
    kind: Callable[..., AnyRun] = Coordinator if isinstance(agreement, Agreement) else PrototypeCoordinator
    second = kind(tmp_path / "second.db", agreement)

    def tamper(round_: int, name: str) -> bool:
        if name != BAD:
            return False
        if second.status().get("stage") == "roll call" and second.status()["round"] == 0:
            call = second.question()
            assert call is not None
            for other in second.status()["waiting_for"]:
                signed = said(table, other, table.server_key.seal("question", call))
                if isinstance(signed, str):  # a silo that is further signs for no round that is over
                    assert "which is over" in signed
                    return False
                second.receive(other, open_seal(agreement, signed, "answer").body)
        begun = second.question()
        assert begun is not None
        given = said(table, OTHER, table.server_key.seal("question", begun))
        assert given in {*table.paid[OTHER], "no longer kept"}
        return False

    same(table.finish(tamper), undisturbed)
    table.check_ledgers()
    table.close()
    second.close()


@pytest.mark.parametrize("cell", [("budgeted", 0), ("prototypes", 0), ("budgeted", LAST)])
def test_where_the_servers_store_is_lost_for_good_silos_say_so_and_what_was_paid(
    cell: tuple[str, int], halls: Halls, calm: Calm, tmp_path: Path
) -> None:
    """A new store asks from the start: in the first round the run goes on as it was, later every silo refuses."""
    agreement, undisturbed = calm[cell[0]]
    table = Table(halls, tmp_path, agreement)
    before: dict[str, float] = {}

    def tamper(round_: int, name: str) -> bool:
        if (round_, name) != (cell[1], BAD) or before:
            return False
        table.take(table.answer(BAD))
        before.update(spent(table))
        table.kill(SERVER)
        for file in table.folder.glob("server.db*"):
            file.unlink()
        return True

    if cell[1] == 0:
        same(table.finish(tamper), undisturbed)
        table.check_ledgers()
    else:
        assert "which is over" in refused(lambda: table.finish(tamper))
        assert spent(table) == before
        assert all(value > 0.0 for value in before.values())
    assert before
    table.close()
