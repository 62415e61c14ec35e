"""Ctrl-C that arrives in a callback of compiled code, where Python drops what it raises."""

from __future__ import annotations

import ctypes
import signal
import threading

import pytest

from discreet.cli.interrupts import check_interrupt, listening
from discreet.cli.output import progress_bar

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@ctypes.CFUNCTYPE(None)
def typed_meanwhile() -> None:
    signal.raise_signal(signal.SIGINT)


def test_python_drops_it_by_itself() -> None:
    """What this is about; once Python passes it on, the room can go."""
    typed_meanwhile()


def test_the_next_report_of_progress_raises_it() -> None:
    with listening(), progress_bar() as report:
        report("training", 0, 2)
        typed_meanwhile()
        with pytest.raises(KeyboardInterrupt):
            report("training", 1, 2)
    check_interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_nothing_is_said_of_what_was_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda dropped: said.append(dropped.exc_type))
    with listening(), progress_bar() as report:
        typed_meanwhile()
        with pytest.raises(KeyboardInterrupt):
            report("training", 1, 2)
    assert said == []
    typed_meanwhile()
    assert said == [KeyboardInterrupt]


def test_elsewhere_it_is_raised_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), listening():
        signal.raise_signal(signal.SIGINT)
    check_interrupt()


def test_who_listens_already_is_left_alone() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda *told: heard.append(told))
    try:
        with listening():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(heard) == 1


def test_other_threads_than_the_first_cannot_listen_and_do_not() -> None:
    failed = []

    def work() -> None:
        try:
            with listening():
                check_interrupt()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failed == []
