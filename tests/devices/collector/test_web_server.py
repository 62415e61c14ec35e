"""The collector rests on parts of its web server that nobody promised; when they go, that is said in words."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from discreet.devices.collector import connections
from discreet.devices.collector.connections import CALLS, PARTS, check_server
from discreet.errors import SettingsInvalid


def test_the_parts_are_there_in_a_real_connection() -> None:
    """If this fails after an upgrade of uvicorn, look at the limits in connections.py before its bound moves."""
    check_server()

    async def make() -> HttpToolsProtocol:
        config = uvicorn.Config(lambda scope: None, loop="asyncio")
        config.load()
        return HttpToolsProtocol(config, ServerState(), {})

    made = asyncio.run(make())
    missing = [name for name in (*PARTS[HttpToolsProtocol], *CALLS, "pipeline") if not hasattr(made, name)]
    assert not missing, f"uvicorn {uvicorn.__version__} has no {missing}; see connections.py"
    assert made.cycle is None
    assert len(made.pipeline) == 0


def test_a_server_without_them_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cycle:
        def __init__(self) -> None:
            self.done = False

    class Protocol:
        def __init__(self) -> None:
            self.transport = self.loop = self.current = None

    monkeypatch.setattr(
        connections, "PARTS", {Protocol: ("transport", "loop", "cycle"), Cycle: ("response_complete",)}
    )
    with pytest.raises(SettingsInvalid, match=r"has no Protocol\.cycle, Cycle\.response_complete any more"):
        check_server()
