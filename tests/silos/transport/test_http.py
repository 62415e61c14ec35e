"""Time and size limits of a request, on real sockets."""

from __future__ import annotations

import asyncio
import socket
import time
from http import HTTPStatus

import pytest

from discreet.silos.transport import http
from discreet.silos.transport.connections import PER_SILO, STRANGERS, Connections
from discreet.silos.transport.http import BadRequest, Request, Response, read_request, write_response


async def pair() -> tuple[asyncio.StreamReader, asyncio.StreamWriter, socket.socket]:
    """A server's end of a connection, and the client's."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    return reader, writer, theirs


def read(content: bytes, largest: int = 100) -> Request:
    async def reading() -> Request:
        reader, writer, client = await pair()
        with client:
            client.sendall(content)
            try:
                return await read_request(reader, largest)
            finally:
                writer.close()
                await writer.wait_closed()

    return asyncio.run(reading())


def test_a_request_is_read_whole() -> None:
    request = read(b"POST /a/b?after=1&x=%20 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcd")
    assert request == Request("POST", "/a/b", {"after": "1", "x": " "}, b"abc")


def test_the_largest_body_is_read_and_no_larger_one() -> None:
    assert len(read(b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n" + bytes(100)).body) == 100
    with pytest.raises(BadRequest) as bad:
        read(b"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + bytes(101))
    assert bad.value.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


@pytest.mark.parametrize("start", [b"GE", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n"])
def test_a_drip_of_bytes_does_not_buy_time(monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.3)

    async def dripping() -> float:
        reader, writer, client = await pair()
        with client:
            client.sendall(start)
            started = time.monotonic()
            reading = asyncio.create_task(read_request(reader, 100))
            while not reading.done() and time.monotonic() < started + 120.0:
                client.send(b"T")
                await asyncio.sleep(0.1 if start == b"GE" else 0.15)
            with pytest.raises(TimeoutError):
                await reading
            writer.close()
            await writer.wait_closed()
            return time.monotonic() - started

    assert asyncio.run(dripping()) < 100.0


def test_a_client_that_does_not_take_its_response_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(http, "SLOWEST", 1 << 30)

    async def writing() -> None:
        _, writer, client = await pair()
        with client:
            with pytest.raises(TimeoutError):
                await write_response(writer, Response(HTTPStatus.OK, bytes(1 << 24)))
            writer.transport.abort()

    asyncio.run(writing())


def test_the_newest_connections_stay_and_silos_keep_their_places() -> None:
    async def crowding() -> tuple[list[bool], list[bool], bool]:
        connections = Connections()

        def connect() -> asyncio.Task[None]:
            task = asyncio.create_task(asyncio.sleep(60))
            connections.admit(task)
            return task

        silo = connect()
        connections.identify(silo, "north")
        greedy = [connect() for _ in range(PER_SILO + 2)]
        for task in greedy:
            connections.identify(task, "south")
        strangers = [connect() for _ in range(STRANGERS + 3)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        ended = [task.cancelled() for task in strangers], [task.cancelled() for task in greedy]
        kept = not silo.cancelled()
        await connections.end()
        return *ended, kept

    strangers, greedy, kept = asyncio.run(crowding())
    assert strangers == [True] * 3 + [False] * STRANGERS
    assert greedy == [True] * 2 + [False] * PER_SILO
    assert kept
