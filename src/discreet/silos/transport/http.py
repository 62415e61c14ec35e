"""As much of HTTP/1.1 as questions and answers need: one bounded request and one response for each connection."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

__all__ = [
    "HEAD_BYTES",
    "STATE",
    "BadRequest",
    "Request",
    "Response",
    "read_request",
    "seconds_for",
    "write_response",
]

STATE = "Discreet-State"
"""Header of a response with a question: ``open`` or ``finished``."""
HEAD_BYTES = 8 * 1024
HEAD_SECONDS = 10.0
SLOWEST = 16 * 1024
"""Bytes a second below which a transfer is given up."""

_LINE = re.compile(rb"(GET|POST) (/[!-~]{0,500}) HTTP/1\.[01]")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}):[ \t]*([ -~\t\x80-\xff]*?)[ \t]*")


class BadRequest(Exception):
    """A request that is not served: the status and the words of the response."""

    def __init__(self, status: HTTPStatus, words: str) -> None:
        super().__init__(words)
        self.status = status


@dataclass(frozen=True)
class Request:
    """What was asked, whole and within its bounds."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Response:
    """What is answered."""

    status: HTTPStatus
    body: bytes = b""
    kind: str = "application/octet-stream"
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def words(cls, status: HTTPStatus, content: dict[str, Any]) -> Response:
        """A JSON object."""
        return cls(status, json.dumps(content).encode(), "application/json")


def seconds_for(size: int) -> float:
    """How long so many bytes may take."""
    return HEAD_SECONDS + size / SLOWEST


async def read_request(
    reader: asyncio.StreamReader, largest: int, admit: Callable[[dict[str, str]], None] = lambda headers: None
) -> Request:
    """Read one request whose body has at most ``largest`` bytes.

    ``admit`` sees the headers (names in small letters) before the body is read, and raises where it is not to be. The
    size is judged before the body is read, and head and body each have a time by which they must be whole: a
    client that sends a byte now and then gets no longer than one that sends nothing.

    Raises
    ------
    BadRequest
        With the response to give.
    ConnectionError, EOFError, TimeoutError
        When there is nobody to respond to.
    """
    async with asyncio.timeout(HEAD_SECONDS):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head is too long") from None
    method, path, query, headers = _parse(head)
    admit(headers)
    size = _size(method, headers, largest)
    async with asyncio.timeout(seconds_for(size)):
        body = await reader.readexactly(size)
    return Request(method, path, query, body)


async def write_response(writer: asyncio.StreamWriter, response: Response) -> None:
    """Send a response, or give up on a client that does not take it."""
    head = [f"HTTP/1.1 {response.status.value} {response.status.phrase}"]
    if response.status != HTTPStatus.NO_CONTENT:
        head += [f"Content-Type: {response.kind}", f"Content-Length: {len(response.body)}"]
    head += [f"{name}: {value}" for name, value in response.headers.items()]
    head += ["Cache-Control: no-store", "Connection: close", "", ""]
    async with asyncio.timeout(seconds_for(len(response.body))):
        writer.write("\r\n".join(head).encode("ascii") + response.body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()


def _parse(head: bytes) -> tuple[str, str, dict[str, str], dict[str, str]]:
    first, *rest = head[:-4].split(b"\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise BadRequest(HTTPStatus.BAD_REQUEST, "the first line is not a request this server knows")
    headers: dict[str, str] = {}
    for text in rest:
        header = _HEADER.fullmatch(text)
        if header is None:
            raise BadRequest(HTTPStatus.BAD_REQUEST, "a header is malformed")
        name = header[1].decode("ascii").lower()
        if name in headers and name in ("content-length", "transfer-encoding", "host"):
            raise BadRequest(HTTPStatus.BAD_REQUEST, f"there are two headers {name}")
        headers[name] = header[2].decode("latin-1")
    try:
        target = urlsplit(line[2].decode("ascii"))
    except ValueError:
        raise BadRequest(HTTPStatus.BAD_REQUEST, "the address cannot be read") from None
    return line[1].decode("ascii"), target.path, dict(parse_qsl(target.query)), headers


def _size(method: str, headers: dict[str, str], largest: int) -> int:
    text = headers.get("content-length")
    if "transfer-encoding" in headers:
        raise BadRequest(HTTPStatus.NOT_IMPLEMENTED, "send the body whole, with its Content-Length")
    if text is None and method == "POST":
        raise BadRequest(HTTPStatus.LENGTH_REQUIRED, "the Content-Length is missing")
    if text is not None and not re.fullmatch("[0-9]{1,15}", text):
        raise BadRequest(HTTPStatus.BAD_REQUEST, "the Content-Length is not a number")
    size = int(text or 0)
    if size > (largest if method == "POST" else 0):
        raise BadRequest(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{size} bytes are more than any message of this run has"
        )
    return size
