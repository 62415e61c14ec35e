"""The model that is served now, and how the next one takes its place.

A request takes the one reference there is when it begins and keeps it to its end, so it never meets two models, and
whatever is served was loaded, checked and laid out before the first request reaches it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import DiscreetError, ModelInvalid
from discreet.model import Model
from discreet.model.storage import MANIFEST
from discreet.statements.document import Document, write_document
from discreet.statements.page import page as statement_page
from discreet.web.page import File, page_files
from discreet.web.prepared import Prepared
from discreet.web.requests import RecommendRequest

__all__ = ["HANGUP", "Current", "Served", "load"]

HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""The signal that asks for a look at the folder; there is none on Windows."""

log = logging.getLogger("discreet.web")
Stamp = tuple[int, int, int] | None


@dataclass(frozen=True)
class Served:
    """One model with everything that is answered from it."""

    prepared: Prepared
    statement: bytes
    statement_page: bytes
    page: dict[str, File]


def load(folder: Path, *, page: bool) -> Served:
    """Load, check and lay out a model folder.

    Raises
    ------
    ModelInvalid
        When it cannot be used, or was replaced again and again while it was read.
    """
    document, model = _read(folder)
    prepared = Prepared(model, document.model.digest)
    prepared.recommend([prepared.person(RecommendRequest(history=[]))])  # compiles what is not compiled yet
    prepared.search.find("a")
    text = statement_page(document)
    files = page_files(model, document) if page else {}
    return Served(prepared, document.to_json().encode(), text.encode(), files)


def _read(folder: Path) -> tuple[Document, Model]:
    """Statement and model of one and the same folder, though another may take its place meanwhile."""
    for _ in range(5):
        before = _stamp(folder)
        try:
            both = write_document(folder), Model.load(folder)
        except ModelInvalid:
            if _stamp(folder) == before:
                raise
            continue
        if _stamp(folder) == before:
            return both
    raise ModelInvalid(f"{folder} changes all the time; put a model there and leave it")


def _stamp(folder: Path) -> Stamp:
    """What changes when another model is put into the folder; None while there is none."""
    try:
        state = (folder / MANIFEST).stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns, state.st_size


class Current:
    """The one reference, exchanged when the folder has another model.

    Parameters
    ----------
    folder, page
        As for `load`.
    tell
        Called after each attempt, with whether a new model is served.
    """

    def __init__(self, folder: Path, *, page: bool, tell: Callable[[bool], None] = lambda fine: None) -> None:
        self._folder, self._page, self._tell = folder, page, tell
        self._seen = _stamp(self._folder)
        self.served = load(folder, page=page)
        self._called = asyncio.Event()

    def look(self) -> None:
        """Ask for a look at the folder, now or as soon as somebody watches it."""
        self._called.set()

    async def renew(self) -> None:
        """Serve what is in the folder now; what was served stays where that cannot be used."""
        self._seen = _stamp(self._folder)
        try:
            fresh = await asyncio.to_thread(load, self._folder, page=self._page)
        except (DiscreetError, OSError) as error:
            log.error("the model was not exchanged: %s", error)
            self._tell(False)
            return
        self.served = fresh
        self._tell(True)

    @contextlib.asynccontextmanager
    async def watched(self, seconds: float) -> AsyncIterator[None]:
        """Look at the folder every so many seconds (0: never), and when the process is told to (SIGHUP)."""
        if HANGUP is not None:  # event loops of Windows take no signals, and there is none to take
            asyncio.get_running_loop().add_signal_handler(HANGUP, self.look)
        task = asyncio.create_task(self._watch(seconds))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _watch(self, seconds: float) -> None:
        called = self._called
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(called.wait(), seconds or None)
            stamp = _stamp(self._folder)
            if called.is_set() or (stamp is not None and stamp != self._seen):
                called.clear()
                await self.renew()
