"""A silo's line to a server that is mistyped, slow or hostile."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from discreet.errors import Refused, SettingsInvalid, Unreachable
from discreet.silos.transport import http as limits
from discreet.silos.transport.client import Client
from discreet.silos.transport.identity import client_context, server_context
from tests.silos.transport.conftest import SILOS


@contextmanager
def hostile(tls: Path, speak: Callable[[ssl.SSLSocket], None]) -> Iterator[int]:
    """A server with a good certificate that answers every request in its own way; its port."""
    context, ended = server_context(tls / "server"), threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)
    open_ones: list[socket.socket] = []

    def answer(raw: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(raw, server_side=True) as connection:
            open_ones.append(connection)
            if connection.recv(1 << 16):
                speak(connection)

    def serve() -> None:
        # Each on a thread of its own: a client may keep a line open that it does not use.
        talks = []
        while not ended.is_set():
            with suppress(OSError):
                raw, _ = listener.accept()
                raw.settimeout(60.0)
                talks.append(threading.Thread(target=answer, args=(raw,)))
                talks[-1].start()
        for connection in open_ones:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for talk in talks:
            talk.join()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        ended.set()
        thread.join()
        listener.close()


def client(tls: Path, url: str) -> Client:
    context = client_context(tls / "silos" / SILOS[0])
    return Client(url, "f" * 32, 2000, context, "", patience=0.0)


@pytest.mark.parametrize(
    "host",
    [".example.com", "a..example", "a" * 64, "é" * 64, "exa mple", "a\0b", "exa\nmple", "example.com\x7f"],
)
def test_a_host_that_cannot_be_is_no_address(tls: Path, host: str) -> None:
    with pytest.raises(
        SettingsInvalid, match="is not a server's address; write https://HOST:PORT"
    ) as refusal:
        client(tls, f"https://{host}:1")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "host", ["localhost", "a" * 63 + ".example.", "é.example", "a_b", "[::1]", "127.0.0.1"]
)
def test_other_hosts_are(tls: Path, host: str) -> None:
    client(tls, f"https://{host}:1")


def test_nested_json_without_end_is_no_word(tls: Path) -> None:
    body = b"[" * 60_000

    def speak(connection: ssl.SSLSocket) -> None:
        connection.sendall(b"HTTP/1.1 409 Conflict\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    with hostile(tls, speak) as port, pytest.raises(Refused, match=r"409.*no reason given"):
        client(tls, f"https://localhost:{port}").question("")


@pytest.mark.parametrize("closes", [b"", b"Connection: close\r\n"])
def test_a_trickle_does_not_buy_a_server_time(
    tls: Path, monkeypatch: pytest.MonkeyPatch, closes: bytes
) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.5)
    ended = threading.Event()

    def speak(connection: ssl.SSLSocket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + closes + b"Content-Length: 1200\r\n\r\n")
        for _ in range(1200):
            connection.sendall(b"x")
            if ended.wait(0.1):
                return

    started = time.monotonic()
    with hostile(tls, speak) as port:
        with pytest.raises(Unreachable, match="too slowly"):
            client(tls, f"https://localhost:{port}").question("")
        ended.set()
    assert time.monotonic() - started < 100.0


def test_silence_after_the_head_does_not_either(tls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEAD_SECONDS", 0.5)
    ended = threading.Event()

    def speak(connection: ssl.SSLSocket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\nx")
        ended.wait(120.0)

    started = time.monotonic()
    with hostile(tls, speak) as port:
        with pytest.raises(Unreachable, match="too slowly"):
            client(tls, f"https://localhost:{port}").question("")
        ended.set()
    assert time.monotonic() - started < 100.0


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_a_body_in_pieces_is_read_whole(tls: Path, size: int) -> None:
    body = bytes(k % 251 for k in range(size))

    def speak(connection: ssl.SSLSocket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + body[:300])
        for start in range(300, size, 300):
            time.sleep(0.01)
            connection.sendall(body[start : start + 300])

    with hostile(tls, speak) as port:
        offer = client(tls, f"https://localhost:{port}").question("")
    assert offer is not None
    assert offer.body == body


def test_a_body_that_is_cut_off_is_not_taken(tls: Path) -> None:
    def speak(connection: ssl.SSLSocket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\nxyz")
        connection.unwrap()

    with hostile(tls, speak) as port, pytest.raises(Unreachable, match="cut off"):
        client(tls, f"https://localhost:{port}").question("")
