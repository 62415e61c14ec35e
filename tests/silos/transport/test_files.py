"""A run carried by hand: files with the bytes that would have been sent, and the same model."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import Refused
from discreet.model import Model
from discreet.silos.shared.agreements import largest_message
from discreet.silos.transport.files import check_message_place, read_message, take_answer, write_message
from discreet.silos.transport.signed_run import SignedRun
from discreet.silos.transport.signed_silo import SignedSilo
from tests.silos.transport.conftest import SILOS, Hall, Halls, key_in
from tests.silos.worlds import Run


def test_by_files_as_over_the_network(halls: Halls, undisturbed: Hall, tmp_path: Path) -> None:
    agreement = undisturbed.agreement
    keys = {name: key_in(halls.tls / "silos" / name, agreement, name) for name in agreement.roster}
    run = Run(tmp_path, halls.ratings, agreement, keys=keys)
    signed = SignedRun(run.coordinator, agreement, key_in(halls.tls / "server", agreement, ""))
    asked, answered = tmp_path / "question.bin", tmp_path / "answer.bin"
    while (question := signed.question()) is not None:
        write_message(asked, question)
        for name, silo in run.silos.items():
            own = SignedSilo(silo, keys[name])
            write_message(answered, own.answer(read_message(asked, agreement)))
            take_answer(signed, read_message(answered, agreement), "answer.bin")
    assert halls.ratings.catalogue is not None
    model, wanted = run.coordinator.model(halls.ratings.catalogue), Model.load(undisturbed.folder / "model")
    assert model.item_side.offsets.tobytes() == wanted.item_side.offsets.tobytes()
    assert model.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
    assert model.statement == wanted.statement
    run.close()


def test_a_file_that_is_too_large_is_not_read(undisturbed: Hall, tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    path.write_bytes(b"")
    with path.open("r+b") as file:
        file.truncate(largest_message(undisturbed.agreement) + 1)
    with pytest.raises(Refused, match="larger than any message"):
        read_message(path, undisturbed.agreement)


def test_only_a_message_is_replaced(tmp_path: Path) -> None:
    for number, content in enumerate([b"", b"dsQ", b"dsR1 a release", b"SQLite format 3\0", b"user,item\n"]):
        path = tmp_path / str(number)
        path.write_bytes(content)
        with pytest.raises(Refused, match="is not a message of this program"):
            write_message(path, b"dsA1 new")
        assert path.read_bytes() == content
    with pytest.raises(Refused, match="is not a message of this program"):
        write_message(tmp_path, b"dsA1 new")
    for content in (b"dsQ1 old", b"dsA1 old", b"dsS1 old"):
        path = tmp_path / "message.bin"
        path.write_bytes(content)
        write_message(path, b"dsA1 new")
        assert path.read_bytes() == b"dsA1 new"


def test_no_message_goes_where_another_file_of_the_command_belongs(tmp_path: Path) -> None:
    store, question = tmp_path / "north.sqlite", tmp_path / "question.bin"
    question.write_bytes(b"dsQ1 a question")
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    for place in (store, tmp_path / "link" / store.name, tmp_path / "north.sqlite-wal", question):
        with pytest.raises(Refused, match="another file of this command"):
            check_message_place(place, store=store, question=question)
    check_message_place(tmp_path / "answer.bin", store=store, question=question)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "question.bin"]


def test_a_damaged_answer_names_its_file(halls: Halls, undisturbed: Hall, tmp_path: Path) -> None:
    run = Run(tmp_path, halls.ratings, undisturbed.agreement, keys=dict.fromkeys(SILOS))  # type: ignore[arg-type]
    before = run.coordinator.status()
    signed = SignedRun(run.coordinator, undisturbed.agreement, None)
    with pytest.raises(Refused, match=r"north\.bin: this is not a message"):
        take_answer(signed, b"nothing", "north.bin")
    assert run.coordinator.status() == before
    run.close()
