"""Messages as files: what they may replace, and how large they may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.cli.federate.server import check_message_place, read_message, write_message
from discreet.errors import Refused
from discreet.silos.shared.signing import MARK
from tests.silos.transport.conftest import Halls


def test_a_file_that_is_too_large_is_not_read(halls: Halls, tmp_path: Path) -> None:
    path, agreement = tmp_path / "large.bin", halls().agreement
    path.write_bytes(b"")
    with path.open("r+b") as file:
        file.truncate(agreement.most_bytes + 1)
    with pytest.raises(Refused, match="larger than any message"):
        read_message(path, agreement)


def test_only_a_message_is_replaced(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for number, content in enumerate([b"", b"dsS", b"dsR1 a release", b"SQLite format 3\0", b"user,item\n"]):
        path = tmp_path / str(number)
        path.write_bytes(content)
        for place in (path, tmp_path):
            with pytest.raises(Refused, match="is not a message of this program"):
                check_message_place(place, store=store)
    path.write_bytes(MARK + b" old")
    check_message_place(path, store=store)
    write_message(path, MARK + b" new")
    assert path.read_bytes() == MARK + b" new"


def test_no_message_goes_where_another_file_of_the_command_belongs(tmp_path: Path) -> None:
    store, question = tmp_path / "north.sqlite", tmp_path / "question.bin"
    question.write_bytes(MARK + b" a question")
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    for place in (store, tmp_path / "link" / store.name, tmp_path / "north.sqlite-wal", question):
        with pytest.raises(Refused, match="another file of this command"):
            check_message_place(place, store=store, question=question)
    check_message_place(tmp_path / "answer.bin", store=store, question=question)
