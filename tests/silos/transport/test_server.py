"""The server's clock and its count of what it hands out, on a run that is made up."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from discreet.silos.transport.address import url_of
from discreet.silos.transport.http import Request
from discreet.silos.transport.identity import server_context
from discreet.silos.transport.server import Server, Terms

RUN = "f" * 32
SILOS = ["a", "b", "c"]
MODEL = b"the model"
LONG = 120.0  # seconds after which something has gone wrong, however busy the machine is


class MadeUp:
    """Waits for one answer of each silo."""

    def __init__(self) -> None:
        self.roster, self.come = list(SILOS), set[str]()
        self.dropped_at: float | None = None

    def question(self) -> bytes | None:
        return b"question" if self._waiting_for() else None

    def receive(self, silo_name: str, body: bytes) -> dict[str, Any]:
        repeated = silo_name in self.come
        self.come.add(silo_name)
        return {"repeated": repeated, **self.status()}

    def status(self) -> dict[str, Any]:
        return {"roster": self.roster, "waiting_for": self._waiting_for()}

    def drop(self, *silo_names: str) -> None:
        self.roster = [name for name in self.roster if name not in silo_names]
        self.dropped_at = time.monotonic()

    def close(self) -> None:
        pass

    def _waiting_for(self) -> list[str]:
        return [name for name in self.roster if name not in self.come]


def serve(
    tls: Path,
    act: Callable[[Server[MadeUp], MadeUp], Awaitable[None]],
    kind: type[MadeUp] = MadeUp,
    **terms: Any,
) -> Server[MadeUp]:
    """Let a server run while something is done to it; the server."""
    run, begun = kind(), asyncio.Event()
    server = Server(
        lambda: run,
        lambda _: MODEL,
        Terms(RUN, 1, 100, **terms),
        server_context(tls),
        str,
        lambda status: begun.set(),
    )

    async def serving() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            task = asyncio.create_task(server.run(listener))
            await begun.wait()
            await act(server, run)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    asyncio.run(serving())
    return server


async def answer(server: Server[MadeUp], silo: str) -> None:
    await server._respond(silo, Request("POST", f"/v1/{RUN}/answer", {}, b"answer"))


async def ask(server: Server[MadeUp], silo: str) -> bytes:
    response = await server._respond(silo, Request("GET", f"/v1/{RUN}/question", {}, b""))
    return response.body


def test_an_answer_sent_again_and_again_keeps_nobody_in_the_run(tls: Path) -> None:
    async def act(server: Server[MadeUp], run: MadeUp) -> None:
        started = time.monotonic()
        while run.dropped_at is None and time.monotonic() < started + LONG:
            await answer(server, "a")
            await asyncio.sleep(0.1)
        assert run.dropped_at is not None
        assert run.roster == ["a"]

    serve(tls / "server", act, drop_after=1.0)


@pytest.mark.timeout(600)
def test_every_new_answer_gives_the_others_their_time_again(tls: Path) -> None:
    """On a machine so busy that the answer itself comes too late, everything is given more time."""
    waited: list[float] = []
    for patience in (1.0, 4.0, 16.0, 64.0):

        async def act(server: Server[MadeUp], run: MadeUp, patience: float = patience) -> None:
            await asyncio.sleep(0.6 * patience)
            if run.dropped_at is not None:
                return
            last = time.monotonic()
            await answer(server, "a")
            while run.dropped_at is None and time.monotonic() < last + LONG:
                await asyncio.sleep(0.05)
            assert run.dropped_at is not None
            waited.append((run.dropped_at - last) / patience)

        serve(tls / "server", act, drop_after=patience)
        if waited:
            break
    assert waited[0] >= 1.0


class Silent(MadeUp):
    """Asks nothing, as with prototypes; the last answer comes after the server saw the question, before the status."""

    _seen = False

    def question(self) -> bytes | None:
        self._seen = "b" in self.come
        return b"" if super().question() is not None else None

    def status(self) -> dict[str, Any]:
        if self._seen:
            self.come.add("c")
        return super().status()


def test_the_end_of_a_run_that_asks_nothing_is_never_missed(tls: Path) -> None:
    """An empty question and none have the same digest; the server took them for each other and waited for ever."""

    async def act(server: Server[MadeUp], run: MadeUp) -> None:
        for silo in SILOS:
            await answer(server, silo)
        assert await ask(server, "a") == MODEL

    serve(tls / "server", act, Silent, wait=LONG)


def test_the_model_counts_where_it_is_handed_out(tls: Path) -> None:
    async def act(server: Server[MadeUp], run: MadeUp) -> None:
        assert await ask(server, "a") == b"question"
        assert server.model_bytes_sent == 0
        for silo in SILOS:
            await answer(server, silo)
        await asyncio.sleep(0.1)
        assert server.model_bytes_sent == 0
        for silo in ("a", "b", "a"):  # the second time as after a lost connection: one message all the same
            assert await ask(server, silo) == MODEL

    assert serve(tls / "server", act).model_bytes_sent == 2 * len(MODEL)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        (("127.0.0.1", 80), "https://127.0.0.1:80"),
        (("::1", 80, 0, 0), "https://[::1]:80"),
        (("::", 80, 0, 0), "https://[::]:80"),
    ],
)
def test_an_address_can_be_pasted_where_a_silo_wants_it(name: tuple[Any, ...], url: str) -> None:
    class Listener:
        def getsockname(self) -> tuple[Any, ...]:
            return name

    assert url_of(Listener()) == url  # type: ignore[arg-type]
