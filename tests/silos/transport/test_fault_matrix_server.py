"""A server that asks wrongly, twice or from another store: a silo pays once, and says so where it cannot go on.

That the server is killed is in ``test_fault_matrix.py``; faults on the line have tests with processes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import Refused
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.signing import SERVER, open_seal
from tests.silos.transport.conftest import SILOS, Halls
from tests.silos.transport.tables import AnyRun, Table, refused
from tests.silos.transport.test_fault_matrix import BAD, OTHER, Cell, calm, label, same

__all__ = ["calm"]

METHODS = ("budgeted", "prototypes")


def spent(table: Table) -> dict[str, float]:
    return {name: float(table.silo(name).status()["epsilon_spent"]) for name in SILOS}


def said(table: Table, name: str, question: bytes) -> bytes | str:
    """What a silo sends; or why not, in the few words that matter."""
    try:
        return table.ask(name, question)
    except Refused as error:
        return "no longer kept" if "no longer kept" in str(error) else str(error)


def spoil(table: Table, question: bytes, asked: list[bytes]) -> None:
    """What was altered, cut, signed by a silo or not at all, asked before, or of another run of the same people."""
    for place in (3, 20, len(question) // 2, len(question) - 1):
        spoilt = bytearray(question)
        spoilt[place] ^= 0x55
        refused(lambda spoilt=spoilt: table.ask(BAD, bytes(spoilt)))  # type: ignore[misc]
    body = open_seal(table.agreement, question, "question").body
    others = table.agreement.model_copy(update={"nonce": "0" * 64})
    other = Table(table.halls, table.folder / "other", type(others).parse(others.model_dump_json().encode()))
    foreign = other.question()
    other.close()
    assert foreign is not None
    for wrong in (
        question[:-1],
        body,
        table.keys[OTHER].seal("question", body),
        table.server_key.seal("model", body),
        foreign,
    ):
        refused(lambda wrong=wrong: table.ask(BAD, wrong))  # type: ignore[misc]
    for old in asked[:-1]:
        assert said(table, BAD, old) in {*table.paid[BAD], "no longer kept"}


@pytest.mark.parametrize("method", METHODS)
def test_at_every_step_what_is_wrong_is_refused_free_of_charge_and_the_run_goes_on(
    method: str, halls: Halls, calm: dict[str, Any], tmp_path: Path
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
    assert steps == set(range(1) if method == "prototypes" else range(4))
    table.close()


@pytest.mark.parametrize("method", METHODS)
def test_a_second_server_gets_nothing_that_the_first_has_not(
    method: str, halls: Halls, calm: dict[str, Any], tmp_path: Path
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


BEGUN = [(method, 0) for method in METHODS]
LATER = [("budgeted", 3)]


@pytest.mark.parametrize("cell", BEGUN + LATER, ids=label)
def test_where_the_servers_store_is_lost_for_good_silos_say_so_and_what_was_paid(
    cell: Cell, halls: Halls, calm: dict[str, Any], tmp_path: Path
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
