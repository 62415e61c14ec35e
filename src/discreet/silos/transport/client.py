"""A silo's line to the server: it calls, patiently, and is never called."""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import Refused, SettingsInvalid, Unreachable
from discreet.silos.transport.http import STATE, seconds_for
from discreet.silos.transport.passes import PASS

__all__ = ["Client", "Offer"]

SOCKET_SECONDS = 45.0
"""For each operation of the socket: above the time a server may wait before it answers."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 15.0
_WORDS_BYTES = 64 * 1024
_PIECE = 1 << 16


@dataclass(frozen=True)
class Offer:
    """What the server has: a question, or the model at the end."""

    body: bytes
    finished: bool


class _Busy(Exception):
    """The server is there and cannot answer now."""


class Client:
    """Requests to one server about one run; a server that is away is tried again.

    Parameters
    ----------
    url
        ``https://HOST:PORT``.
    run_id, largest
        Of the agreement: the run, and the bytes of the largest message.
    context
        Of :func:`discreet.silos.transport.identity.client_context`.
    shown
        This silo's pass (:func:`discreet.silos.transport.passes.pass_of`).
    patience
        Seconds without any response after which it gives up.
    on_trouble
        Called with words whenever a request has failed and will be made again.
    """

    def __init__(
        self,
        url: str,
        run_id: str,
        largest: int,
        context: ssl.SSLContext,
        shown: str,
        *,
        patience: float = 600.0,
        on_trouble: Callable[[str], None] = lambda words: None,
    ) -> None:
        self._host, self._port = _address(url)
        self._url = url
        self._root = f"/v1/{run_id}/"
        self._largest = largest
        self._context, self._shown = context, shown
        self._patience = patience
        self._on_trouble = on_trouble

    def question(self, after: str) -> Offer | None:
        """What the server asks, if it is another question than the one with the digest ``after``; it may wait."""
        status, headers, body = self._persist("GET", f"question?after={after}", None)
        if status == HTTPStatus.NO_CONTENT:
            return None
        return Offer(body, headers.get(STATE) == "finished")

    def answer(self, body: bytes) -> dict[str, Any]:
        """Send an answer until the server has it for good; what it said."""
        return _words(self._persist("POST", "answer", body)[2])

    def take_leave(self) -> None:
        """Tell the server that this silo knows that the run is over; a server that has gone need not know."""
        with suppress(OSError, http.client.HTTPException, _Busy, Refused):
            self._request("POST", "goodbye", b"")

    def _persist(
        self, method: str, what: str, body: bytes | None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        given_up = time.monotonic() + self._patience
        pause = FIRST_PAUSE
        while True:
            try:
                return self._request(method, what, body)
            except ssl.SSLCertVerificationError as error:
                raise Refused(
                    f"{self._url} is not the server this silo trusts ({error.verify_message}); nothing was sent"
                ) from None
            except (OSError, http.client.HTTPException, _Busy) as error:
                if time.monotonic() + pause > given_up:
                    raise Unreachable(
                        f"{self._url} could not be reached for {self._patience:g} s ({_reason(error)}); "
                        "run the same command again when it is back, nothing is lost"
                    ) from None
                self._on_trouble(f"{_reason(error)}; trying again")
            # Half to whole pauses, so that silos cut off together do not all come back together.
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2.0 * pause, LONGEST_PAUSE)

    def _request(
        self, method: str, what: str, body: bytes | None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = http.client.HTTPSConnection(
            self._host, self._port, timeout=SOCKET_SECONDS, context=self._context
        )
        try:
            connection.request(method, self._root + what, body, {PASS: self._shown})
            line = connection.sock  # the connection lets go of it where the server says that it will close
            with connection.getresponse() as response:
                if response.status not in (HTTPStatus.OK, HTTPStatus.NO_CONTENT):
                    words = _words(_read(response, line, _WORDS_BYTES))
                    raise _refusal(response.status, words)
                return response.status, response.headers, _read(response, line, self._largest)
        finally:
            connection.close()


def _refusal(status: int, said: dict[str, Any]) -> Exception:
    """What a refusal comes to."""
    words = str(said.get("error", "no reason given"))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _Busy(f"{status}: {words}")
    return Refused(f"the server refused ({status}): {words}")


def _read(response: http.client.HTTPResponse, line: socket.socket, most: int) -> bytes:
    """A body of at most so many bytes, in bounded time however small its pieces are."""
    size = response.length
    if size is None or size > most:
        raise Refused(f"the server sends {size} bytes, more than any message of this run has; not read")
    until = time.monotonic() + seconds_for(size)
    content = bytearray()
    while len(content) < size:
        left = until - time.monotonic()
        try:
            if left <= 0.0:
                raise TimeoutError
            line.settimeout(min(left, SOCKET_SECONDS))
            piece = response.read1(_PIECE)
        except TimeoutError:
            raise TimeoutError("the response came too slowly") from None
        if not piece:
            raise ConnectionError("the response was cut off")
        content += piece
    return bytes(content)


def _address(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # as the socket does, which knows no empty or overlong labels
    except ValueError:
        host, port = None, None
    if (
        not host
        or re.search(r"[\s\x00-\x1f\x7f]", url)
        or parts.scheme != "https"
        or parts.path not in ("", "/")
        or parts.query
    ):
        raise SettingsInvalid(f"{url!r} is not a server's address; write https://HOST:PORT")
    return host, port or 443


def _words(content: bytes) -> dict[str, Any]:
    try:
        words = json.loads(content)
    except (ValueError, RecursionError):
        words = None
    return words if isinstance(words, dict) else {}


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
