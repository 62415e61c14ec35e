"""Faults of the server, at every step of every round, with all methods, by file: what a silo is sent, twice or spoilt.

That the server is killed is in ``test_fault_matrix.py``; faults on the line and impostors have tests with processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import Refused
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import AnyAgreement
from discreet.silos.shared.signing import SERVER, open_seal
from tests.silos.transport.conftest import SILOS, Halls
from tests.silos.transport.tables import AnyRun, Table, refused
from tests.silos.transport.test_fault_matrix import BAD, OTHER, Cell, agreed, label, same

METHODS = ("budgeted", "prototypes")
Calm = dict[str, tuple[AnyAgreement, Any]]


@pytest.fixture(scope="module")
def calm(halls: Halls, tmp_path_factory: pytest.TempPathFactory) -> Calm:
    """Of each method an agreement, and the model of a run in which nothing went wrong."""
    made = {}
    for method in METHODS:
        table = Table(halls, tmp_path_factory.mktemp(method), agreed(halls, method))
        made[method] = table.agreement, table.finish()
        table.close()
    return made


class Desk(Table):
    """A table at which what was asked is kept, and a second server may sit down."""

    def __init__(self, halls: Halls, folder: Path, agreement: AnyAgreement) -> None:
        super().__init__(halls, folder, agreement)
        self.asked: list[bytes] = []

    def spent(self) -> dict[str, float]:
        return {name: float(self.silo(name).status()["epsilon_spent"]) for name in SILOS}

    def second(self) -> AnyRun:
        """A server of the same agreement, with its keys and a store of its own."""
        if "second server" not in self._open:
            kind: Callable[..., AnyRun] = (
                Coordinator if isinstance(self.agreement, Agreement) else PrototypeCoordinator
            )
            self._open["second server"] = kind(self.folder / "second.db", self.agreement)
        found: AnyRun = self._open["second server"]
        return found


@pytest.fixture
def desk(request: pytest.FixtureRequest, halls: Halls, calm: Calm, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(halls, tmp_path, calm[request.param][0])
    yield made
    made.close()


def said(desk: Desk, name: str, question: bytes) -> bytes | str:
    """What a silo sends; or why not, in the few words that matter."""
    try:
        return desk.ask(name, question)
    except Refused as error:
        return "no longer kept" if "no longer kept" in str(error) else str(error)


def duplicated(desk: Desk, question: bytes) -> None:
    first = desk.answer(BAD)
    for _ in range(2):
        assert desk.ask(BAD, question) == first
        desk.kill(BAD)
    assert desk.ask(BAD, question) == first


def garbled(desk: Desk, question: bytes) -> None:
    for place in (3, 20, len(question) // 2, len(question) - 1):
        spoilt = bytearray(question)
        spoilt[place] ^= 0x55
        refused(lambda spoilt=spoilt: desk.ask(BAD, bytes(spoilt)))  # type: ignore[misc]
    refused(lambda: desk.ask(BAD, question[:-1]))


def impersonated(desk: Desk, question: bytes) -> None:
    """By somebody who carries messages, and by a silo."""
    body = open_seal(desk.agreement, question, "question").body
    if body:
        refused(lambda: desk.ask(BAD, body))
    refused(lambda: desk.ask(BAD, desk.keys[OTHER].seal("question", body)))
    refused(lambda: desk.ask(BAD, desk.server_key.seal("model", body)))


def replayed(desk: Desk, question: bytes) -> None:
    """What was asked before, in this run and in another one of the same people; asked again it costs nothing."""
    for old in desk.asked:
        if old == question:
            continue
        assert said(desk, BAD, old) in {*desk.paid[BAD], "no longer kept"}
    others = desk.agreement.model_copy(update={"nonce": "0" * 64})
    other = Table(desk.halls, desk.folder / "other", type(others).parse(others.model_dump_json().encode()))
    foreign = other.question()
    other.close()
    assert foreign is not None
    refused(lambda: desk.ask(BAD, foreign))


def two_servers(desk: Desk, question: bytes) -> None:
    """Two stores of the server: the second begins from the start, and gets nothing that the first has not."""
    second = desk.second()
    if second.status().get("stage") == "roll call" and second.status()["round"] == 0:
        call = second.question()
        assert call is not None
        for name in second.status()["waiting_for"]:
            signed = said(desk, name, desk.server_key.seal("question", call))
            if isinstance(signed, str):  # a silo that is further signs for no round that is over
                assert "which is over" in signed
                return
            second.receive(name, open_seal(desk.agreement, signed, "answer").body)
    begun = second.question()
    assert begun is not None
    given = said(desk, OTHER, desk.server_key.seal("question", begun))
    assert given in {*desk.paid[OTHER], "no longer kept"}


FAULTS: dict[str, Callable[[Desk, bytes], None]] = {
    made.__name__: made for made in (duplicated, garbled, impersonated, replayed, two_servers)
}


@pytest.mark.parametrize("desk", METHODS, indirect=True)
@pytest.mark.parametrize("fault", FAULTS)
def test_at_every_step_what_is_wrong_is_refused_free_of_charge_and_the_run_goes_on(
    fault: str, desk: Desk, calm: Calm
) -> None:
    steps: set[int] = set()

    def tamper(round_: int, name: str) -> bool:
        question = desk.question()
        assert question is not None
        if question not in desk.asked:
            desk.asked.append(question)
        status = desk.coordinator.status()
        # The second in turn: one silo has answered the question before anything is wrong with it.
        if name == BAD and name in status["waiting_for"]:
            before = desk.spent()
            FAULTS[fault](desk, question)
            if fault not in ("duplicated", "two_servers"):
                assert desk.spent() == before
            steps.add(round_)
        return False

    model = desk.finish(tamper)
    [method] = [one for one, (agreement, _) in calm.items() if agreement == desk.agreement]
    same(model, calm[method][1])
    desk.check_ledgers()
    assert steps == set(range(1) if method == "prototypes" else range(4))


BEGUN = [(method, 0) for method in METHODS]
LATER = [("budgeted", 3)]


@pytest.mark.parametrize("cell", BEGUN + LATER, ids=label)
def test_where_the_servers_store_is_lost_for_good_silos_say_so_and_what_was_paid(
    cell: Cell, halls: Halls, calm: Calm, tmp_path: Path
) -> None:
    """A new store asks from the start: in the first round the run goes on as it was, later every silo refuses."""
    agreement, undisturbed = calm[cell[0]]
    desk = Desk(halls, tmp_path, agreement)
    spent: dict[str, float] = {}

    def tamper(round_: int, name: str) -> bool:
        if (round_, name) != (cell[1], BAD) or spent:
            return False
        desk.take(desk.answer(BAD))
        spent.update(desk.spent())
        desk.kill(SERVER)
        for file in desk.folder.glob("server.db*"):
            file.unlink()
        return True

    if cell[1] == 0:
        same(desk.finish(tamper), undisturbed)
        desk.check_ledgers()
    else:
        assert "which is over" in refused(lambda: desk.finish(tamper))
        assert desk.spent() == spent
        assert all(value > 0.0 for value in spent.values())
    assert spent
    desk.close()
