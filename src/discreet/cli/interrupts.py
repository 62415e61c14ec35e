"""Ctrl-C that cannot get lost.

Python raises KeyboardInterrupt wherever a program happens to be. In a callback of compiled code (a compiler that has
just finished, a finaliser) there is nobody who could pass it on: it is dropped, and a long command would go on as if
nothing had been typed. So that it was asked for is kept, and looked at whenever there is progress to report.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["check_interrupt", "listening"]

_asked = threading.Event()


@contextmanager
def listening() -> Iterator[None]:
    """Keep in mind that Ctrl-C was typed, where nobody else listens for it."""
    alone = threading.current_thread() is threading.main_thread()
    if not alone or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _asked.clear()
    signal.signal(signal.SIGINT, _on_signal)
    shown, sys.unraisablehook = sys.unraisablehook, _quietly(sys.unraisablehook)
    try:
        yield
    finally:
        sys.unraisablehook = shown
        if signal.getsignal(signal.SIGINT) is _on_signal:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _asked.clear()


def check_interrupt() -> None:
    """Raise what was dropped, if it was."""
    if _asked.is_set():
        raise KeyboardInterrupt


def _quietly(show: Callable[[sys.UnraisableHookArgs], object]) -> Callable[[sys.UnraisableHookArgs], None]:
    """Say nothing of a Ctrl-C that was dropped: it is kept in mind."""

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            show(dropped)

    return hook


def _on_signal(number: int, frame: FrameType | None) -> None:
    _asked.set()
    raise KeyboardInterrupt
