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
from discreet.silos.server.prototype_coordinator import PrototypeCoordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import AnyAgreement
from discreet.silos.shared.seal import SERVER, SigningKey, open_seal
from discreet.silos.transport.signed_run import SignedRun
from discreet.silos.transport.signed_silo import SignedSilo
from tests.silos.transport.conftest import SILOS, Halls, key_in
from tests.silos.transport.tables import AnyRun, Table, refused
from tests.silos.transport.test_fault_matrix import BAD, LOSSES, OTHER, Cell, agreed, label, same

METHODS = ("budgeted", "losses", "prototypes")
THIRD = SILOS[2]
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
        self.key: SigningKey = key_in(halls.tls / "server", agreement, SERVER)

    def ask(self, name: str, question: bytes) -> bytes:
        return SignedSilo(self.silo(name), self.keys[name]).answer(question)

    def spent(self) -> dict[str, float]:
        return {name: float(self.silo(name).status()["epsilon_spent"]) for name in SILOS}

    def second(self) -> SignedRun:
        """A server of the same agreement, with its keys and a store of its own."""
        if "second server" not in self._open:
            kind: Callable[..., AnyRun] = (
                Coordinator if isinstance(self.agreement, Agreement) else PrototypeCoordinator
            )
            self._open["second server"] = kind(self.folder / "second.db", self.agreement)
        return SignedRun(self._open["second server"], self.agreement, self.key)


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
        known = ("no longer kept", "has not answered this question")
        return next((words for words in known if words in str(error)), str(error))


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
    refused(lambda: desk.ask(BAD, desk.key.seal("model", body)))


def replayed(desk: Desk, question: bytes) -> None:
    """What was asked before, in this run and in another one of the same people; asked again it costs nothing."""
    for old in desk.asked:
        if old == question:
            continue
        assert said(desk, BAD, old) in {*desk.paid[BAD], "no longer kept", "has not answered this question"}
    others = desk.agreement.model_copy(update={"nonce": "0" * 64})
    other = Table(desk.halls, desk.folder / "other", type(others).parse(others.model_dump_json().encode()))
    foreign = other.question()
    other.close()
    assert foreign is not None
    refused(lambda: desk.ask(BAD, foreign))


def two_servers(desk: Desk, question: bytes) -> None:
    """Two stores of the server: the second begins from the start, and gets nothing that the first has not."""
    begun = desk.second().question()
    assert begun is not None
    given = said(desk, OTHER, begun)
    assert given in {*desk.paid[OTHER], "no longer kept"}


FAULTS: dict[str, Callable[[Desk, bytes], None]] = {
    made.__name__: made for made in (duplicated, garbled, impersonated, replayed, two_servers)
}


@pytest.mark.parametrize("desk", METHODS, indirect=True)
@pytest.mark.parametrize("fault", FAULTS)
def test_at_every_step_what_is_wrong_is_refused_free_of_charge_and_the_run_goes_on(
    fault: str, desk: Desk, calm: Calm
) -> None:
    steps = set()

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
            steps.add((round_, status.get("stage", "answer")))
        return False

    model = desk.finish(tamper)
    [method] = [one for one, (agreement, _) in calm.items() if agreement == desk.agreement]
    same(model, calm[method][1])
    desk.check_ledgers()
    stages = ("answer", "countersign", "reveal") if method == "losses" else ("answer",)
    rounds = range(1) if method == "prototypes" else range(4)
    assert steps == {(round_, stage) for round_ in rounds for stage in stages}


BEGUN = [(method, 0, "answer") for method in METHODS]
LATER = [("budgeted", 3, "answer"), *(cell for cell in LOSSES if cell[1] == 3)]


@pytest.mark.parametrize("cell", BEGUN + LATER, ids=label)
def test_where_the_servers_store_is_lost_for_good_silos_say_so_and_what_was_paid(
    cell: Cell, halls: Halls, calm: Calm, tmp_path: Path
) -> None:
    """A new store asks from the start: in the first round the run goes on as it was, later every silo refuses."""
    agreement, undisturbed = calm[cell[0]]
    desk = Desk(halls, tmp_path, agreement)
    spent: dict[str, float] = {}

    def tamper(round_: int, name: str) -> bool:
        here = (round_, name, desk.coordinator.status().get("stage", "answer")) == (cell[1], BAD, cell[2])
        if not here or spent:
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
        assert "no longer kept" in refused(lambda: desk.finish(tamper))
        assert desk.spent() == spent
        assert all(value > 0.0 for value in spent.values())
    assert spent
    desk.close()


@pytest.mark.parametrize("desk", ["losses"], indirect=True)
@pytest.mark.parametrize("bound", [(OTHER,), (OTHER, THIRD)], ids=["one silo", "two silos"])
def test_of_two_servers_lists_each_silo_stands_by_one(desk: Desk, bound: tuple[str, ...]) -> None:
    """Both have all answers of the first round; the second says that a silo was lost, and asks some silos first."""
    for name in SILOS:
        desk.take(desk.answer(name))
    second, begun = desk.second(), desk.second().question()
    assert begun is not None
    for name in (OTHER, THIRD):
        second.receive(name, desk.ask(name, begun))
    assert isinstance(second.run, Coordinator)
    second.run.lose(BAD)
    other_list = second.question()
    assert other_list is not None
    for name in bound:
        desk.ask(name, other_list)
    first_list = desk.question()
    assert first_list is not None
    for name in bound:
        words = refused(lambda name=name: desk.ask(name, first_list))  # type: ignore[misc]
        assert "two accounts of who is in the sum" in words
    assert "not in the sum" in refused(lambda: desk.ask(BAD, other_list))
    if len(bound) == 1:  # two countersignatures are enough for the first server, and one not for the second

        def without(round_: int, name: str) -> bool:
            if name != OTHER:
                return False
            if round_ > 0 and desk.coordinator.status()["waiting_for"] == [OTHER]:
                words = refused(lambda: desk.answer(OTHER))
                assert "two accounts of who was in the sum of round 0" in words
                assert isinstance(desk.coordinator, Coordinator)
                desk.coordinator.lose(OTHER)
            return True

        desk.finish(without)
        assert desk.coordinator.status()["lost_in"] == {str(round_): [OTHER] for round_ in (1, 2, 3)}
        desk.check_ledgers()
        return
    desk.take(desk.answer(BAD))
    assert desk.coordinator.status()["waiting_for"] == [OTHER, THIRD]
    refused(lambda: desk.coordinator.drop(OTHER, THIRD))
    assert "what silos may have paid" in refused(desk.coordinator.finish_early)
    desk.check_ledgers()


@pytest.mark.parametrize("desk", ["losses"], indirect=True)
@pytest.mark.parametrize("stage", ["countersign", "reveal"])
@pytest.mark.parametrize("fault", ["two stores", "lost for good"])
def test_who_has_two_stores_or_goes_for_good_at_a_list_is_gone_on_without(
    desk: Desk, stage: str, fault: str
) -> None:
    """Its second store has answered as well, which nobody saw, and shows in what it replies to the list."""
    done = False

    def tamper(round_: int, name: str) -> bool:
        nonlocal done
        status = desk.coordinator.status()
        if name == BAD and status["stage"] == "answer" and round_ == 0 and fault == "two stores":
            desk.answer(BAD, store="second")
        if done or (name, status["stage"]) != (BAD, stage):
            return done and name == BAD
        done = True
        if fault == "two stores":
            words = refused(lambda: desk.take(desk.answer(BAD, store="second")))
            assert f"two stores of {BAD}" in words
            for store in (None, "second"):
                desk.silo(BAD, store).learn_of_second_store(words)
        desk.kill(SERVER)
        desk.check_ledgers()
        desk.coordinator.drop(BAD)
        desk.kill(SERVER)
        return True

    desk.finish(tamper)
    assert done
    assert desk.coordinator.status()["roster"] == [OTHER, THIRD]
    assert desk.coordinator.status()["second_stores"] == ([BAD] if fault == "two stores" else [])
    desk.check_ledgers()
