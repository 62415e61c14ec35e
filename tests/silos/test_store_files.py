"""Files of silos and server: for their owner's eyes, and without answers that are of no use any more."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import Refused
from discreet.silos.shared.store import Store
from tests.silos.worlds import Run, agree, world


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def loose() -> Iterator[None]:
    """A person whose new files everybody may read."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_files_are_made_for_their_owner(tmp_path: Path, loose: None) -> None:
    store = Store(tmp_path / "s.sqlite", "a run", "me")
    with store.transaction():
        store.add("answer", body=b"x" * 10_000)
    names = {path.name for path in tmp_path.iterdir()}
    assert "s.sqlite-wal" in names
    assert {name: mode(tmp_path / name) for name in names} == dict.fromkeys(names, 0o600)
    store.close()


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    """2 is FULL: the log is synced at every commit, so that no power cut undoes a charge whose answer has left."""
    store = Store(tmp_path / "silo.db", "a run", "me")
    assert store.rows("PRAGMA synchronous") == [(2,)]
    assert store.rows("PRAGMA journal_mode") == [("wal",)]
    store.close()


def test_what_is_deleted_is_nowhere_on_the_disk(tmp_path: Path) -> None:
    secret, store = (
        b"an exact total that must not be found again" * 50,
        Store(tmp_path / "s.db", "a run", "me"),
    )
    for left in (True, False):
        with store.transaction():
            store.add("answer", body=secret) if left else store.forget_bodies("answer")
        store.forget_deleted()
        assert any(secret[:40] in path.read_bytes() for path in tmp_path.iterdir()) == left
    store.close()


def test_files_of_others_eyes_are_closed_to_them(tmp_path: Path, loose: None) -> None:
    path = tmp_path / "s.sqlite"
    Store(path, "a run", "me").close()
    path.chmod(0o644)
    store = Store(path, "a run", "me")
    assert mode(path) == 0o600
    store.close()


def kept(folder: Path, party: str, content: bytes) -> bool:
    """Whether a party's file, or the log beside it, holds these bytes."""
    piece = content[len(content) // 2 :][:64]
    assert len(set(piece)) > 16
    return any(piece in path.read_bytes() for path in folder.glob(f"{party}.db*"))


@pytest.mark.parametrize("noise", ["shares", "server"])
def test_an_answer_is_kept_until_the_next_question_and_no_longer(tmp_path: Path, noise: str) -> None:
    ratings = world()
    run = Run(tmp_path, ratings, agree(ratings, 3, noise=noise, honest=2), fixed=False)
    first = run.coordinator.question()
    assert first is not None
    given = {name: silo.answer(first) for name, silo in run.silos.items()}
    for number, (name, answer) in enumerate(given.items()):
        assert kept(tmp_path, name, answer)
        assert run.silos[name].answer(first) == answer
        run.coordinator.receive(name, answer)
        run.coordinator.status()
        assert kept(tmp_path, "server", answer) == (number < 2)
    assert not any(kept(tmp_path, "server", answer) for answer in given.values())
    second = run.coordinator.question()
    assert second is not None
    for name, silo in run.silos.items():
        later = silo.answer(second)
        assert not kept(tmp_path, name, given[name])
        assert kept(tmp_path, name, later)
        with pytest.raises(Refused, match="no longer kept"):
            silo.answer(first)
        spent = silo.status()["charged_mu"]
        silo.end()
        assert not kept(tmp_path, name, later)
        assert silo.status()["charged_mu"] == spent > 0.0
    run.close()


def test_of_the_last_answers_a_trusted_server_keeps_nothing_any_longer(tmp_path: Path) -> None:
    """Together they are exact totals; after them nothing more is asked."""
    ratings = world()
    run = Run(tmp_path, ratings, agree(ratings, 3, noise="server", honest=2), fixed=False)
    run.finish()
    assert not any(kept(tmp_path, "server", answers[-1]) for answers in run.sent.values())
    run.close()


def test_answers_to_an_attempt_that_was_given_up_are_forgotten(tmp_path: Path) -> None:
    ratings = world()
    agreement = agree(ratings, 4, noise="server", honest=1)
    for end in ("drop", "finish"):
        folder = tmp_path / end
        folder.mkdir()
        run = Run(folder, ratings, agreement, fixed=False)
        run.step()
        run.step()
        question = run.coordinator.question()
        assert question is not None
        answer = run.silos["silo-00"].answer(question)
        run.coordinator.receive("silo-00", answer)
        assert kept(folder, "server", answer)
        if end == "drop":
            run.coordinator.drop("silo-03")
        else:
            run.coordinator.finish_early()
        assert not kept(folder, "server", answer)
        run.close()
