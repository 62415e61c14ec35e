"""Who is slow, silent or endless keeps nobody else waiting.

``DISCREET_IDLE`` sets how many silent connections there are.
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

from tests.service.support.models import make_model
from tests.service.support.running import Running

IDLE = int(os.environ.get("DISCREET_IDLE", "200"))


def test_silent_and_slow_connections_keep_nobody_waiting(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, IDLE + 500)), hard))
    folder = make_model("Ridge", 40, 3).save(tmp_path / "model")
    head = b"POST /recommend HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    head += b"content-length: 90\r\n\r\n"
    with contextlib.ExitStack() as stack, Running(folder, connections=IDLE + 100) as service:
        wires = [stack.enter_context(service.connect()) for _ in range(IDLE)]
        for wire in wires[::3]:
            wire.sendall(head + b'{"history"')
        for wire in wires[1::3]:
            wire.sendall(b"GET /statement")
        for _ in range(20):
            answer = service.recommend(history=[{"item": "film-1", "rating": 5}])
            assert len(answer["recommendations"]) == 10


def test_one_address_may_hold_so_many_connections_and_no_more(tmp_path: Path) -> None:
    folder = make_model("Ridge", 40, 3).save(tmp_path / "model")
    with contextlib.ExitStack() as stack, Running(folder, connections=5) as service:
        for _ in range(5):
            wire = stack.enter_context(service.connect())
            wire.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert b" 200 " in wire.recv(100)
        with service.connect() as sixth, contextlib.suppress(ConnectionError):
            sixth.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert sixth.recv(100) == b""
