"""A real Chromium, and a host of plain files that counts what it is asked."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
MISSING = "no Chromium was found, so the page was not tried in a browser; install the package chromium"
PATIENCE = 240_000  # milliseconds; on a busy machine everything takes long
ARGUMENTS = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


@dataclass
class Host:
    """Where the files are, and every path that was asked for."""

    url: str
    asked: list[str] = field(default_factory=list)


@contextmanager
def hosted(folder: Path) -> Iterator[Host]:
    """Serve a folder as any web host would."""
    host = Host("")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def parse_request(self) -> bool:
            fine = super().parse_request()
            if fine:
                host.asked.append(f"{self.command} {self.path}")
            return fine

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
    )
    host.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
