"""A silo's side of a whole run over the network: it calls the server, patiently, and is never called."""

from __future__ import annotations

import hashlib
import json
import random
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from discreet.errors import Refused, SettingsInvalid, Unreachable
from discreet.silos.shared.signing import PASS, SERVER, STATE, SigningKey, open_seal
from discreet.silos.silo.party import Party

__all__ = ["Client", "participate"]

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 15.0
LONGEST_LOOK = 1.0
_SECONDS = 45.0  # for each operation of the socket
_WORDS_BYTES = 64 * 1024


class _Said(NamedTuple):
    """What the server has: a question, the model at the end, or nothing new."""

    body: bytes
    state: str


class _Busy(Exception):
    """The server is there and cannot answer now."""


class Client:
    """Requests to one server about one run; a server that is away is tried again."""

    def __init__(
        self,
        url: str,
        key: SigningKey,
        context: ssl.SSLContext,
        *,
        patience: float = 600.0,
        on_trouble: Callable[[str], None] = lambda words: None,
    ) -> None:
        _check_address(url)
        self._url, self._largest = url, key.agreement.most_bytes
        self._patience, self._on_trouble, self._troubled = patience, on_trouble, False
        headers = {PASS: key.shown, "accept-encoding": "identity"}
        base = f"{url.rstrip('/')}/v1/{key.agreement.run_id}/"
        self._http = httpx.Client(base_url=base, verify=context, headers=headers, timeout=_SECONDS)

    def question(self, after: str) -> _Said | None:
        """What the server asks, if it is another question than the one with the digest ``after``."""
        said = self._persist("GET", f"question?after={after}")
        return said if said.state else None

    def answer(self, body: bytes) -> dict[str, Any]:
        """Send an answer until the server has it for good; what it said."""
        return _words(self._persist("POST", "answer", body).body)

    def take_leave(self) -> None:
        """Tell the server that this silo knows that the run is over; a server that has gone need not know."""
        with suppress(httpx.HTTPError, _Busy, Refused):
            self._request("POST", "goodbye", b"")

    def close(self) -> None:
        """End the connection."""
        self._http.close()

    def _persist(self, method: str, what: str, body: bytes | None = None) -> _Said:
        given_up = time.monotonic() + self._patience
        pause = FIRST_PAUSE
        while True:
            try:
                said = self._request(method, what, body)
            except (httpx.TransportError, _Busy) as error:
                reason = str(error) or type(error).__name__
                if "CERTIFICATE_VERIFY_FAILED" in reason:
                    raise Refused(
                        f"{self._url} is not the server this silo trusts ({reason}); nothing was sent"
                    ) from None
                if time.monotonic() + pause > given_up:
                    raise Unreachable(
                        f"{self._url} could not be reached for {self._patience:g} s ({reason}); "
                        "run the same command again when it is back, nothing is lost"
                    ) from None
                self._on_trouble(reason)
                self._troubled = True
            else:
                if self._troubled:
                    self._on_trouble("")
                self._troubled = False
                return said
            # Half to whole pauses, so that silos cut off together do not all come back together.
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2.0 * pause, LONGEST_PAUSE)

    def _request(self, method: str, what: str, body: bytes | None) -> _Said:
        with self._http.stream(method, what, content=body) as response:
            good = response.status_code in (200, 204)
            most, content = self._largest if good else _WORDS_BYTES, bytearray()
            for piece in response.iter_raw():
                content += piece
                if len(content) > most:
                    raise Refused("the server sends more bytes than any message of this run has; not read")
        if good:
            return _Said(bytes(content), response.headers.get(STATE, ""))
        words = f"{response.status_code}: {_words(bytes(content)).get('error', 'no reason given')}"
        if response.status_code >= 500:
            raise _Busy(words)
        raise Refused(f"the server refused ({words})")


def participate(
    silo: Party,
    key: SigningKey,
    client: Client,
    finish: Callable[[bytes], object],
    report: Callable[[], None] = lambda: None,
) -> None:
    """Answer questions that the server of the agreement has signed until it says that the run has finished.

    Notes
    -----
    **Privacy.** A question that the server has not signed is refused before it is looked at: whoever carries
    messages cannot make a silo pay for a question that nobody else is asked, nor lock it out of the right one.
    """
    answered, refusal, pause = "", None, 0.05
    while True:
        try:
            offer = client.question(answered)
        except Refused:
            client.take_leave()
            raise
        if offer is None:
            if refusal is not None:
                raise refusal
            time.sleep(pause)
            pause = min(1.5 * pause, LONGEST_LOOK)
            continue
        if offer.state == "finished":
            finish(open_seal(key.agreement, offer.body, "model", SERVER).body)
            client.take_leave()
            return
        answer = silo.answer(open_seal(key.agreement, offer.body, "question", SERVER).body)
        answered, refusal, pause = hashlib.sha256(offer.body).hexdigest(), None, 0.05
        try:
            client.answer(key.seal("answer", answer))
        except Refused as refused:
            # The round may have been repeated without this answer in the meantime: another question follows then.
            refusal = refused
        else:
            report()


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        host.encode("idna")  # as the socket does, which knows no empty or overlong labels
        good = bool(host) and parts.scheme == "https" and parts.path in ("", "/") and not parts.query
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL):
        good = False
    if not good or not url.isprintable() or " " in url:
        raise SettingsInvalid(f"{url!r} is not a server's address; write https://HOST:PORT")


def _words(content: bytes) -> dict[str, Any]:
    try:
        words = json.loads(content)
    except (ValueError, RecursionError):
        words = None
    return words if isinstance(words, dict) else {}
