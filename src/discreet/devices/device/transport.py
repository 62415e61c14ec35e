"""HTTP to a collector over one connection, with every size limited."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

__all__ = ["CollectorRefused", "Connection", "Unreachable"]

_SMALL = 65_536


class Unreachable(OSError):
    """The collector did not answer as one; try again later, the answer drawn stays the same."""


class CollectorRefused(ValueError):
    """The collector answered, and the answer is no."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(f"the collector refused ({status}): {why}")
        self.status = status


class Connection:
    """One connection to a collector at ``https://...``, or ``http://...`` for one on this machine."""

    def __init__(self, url: str, token: str | None = None, seconds: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise ValueError(f"{url} is not the address of a collector: http(s)://host:port")
        self._wire: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context()
            self._wire = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=seconds, context=context
            )
        elif parts.hostname in ("localhost", "127.0.0.1", "::1"):
            self._wire = http.client.HTTPConnection(parts.hostname, parts.port, timeout=seconds)
        else:
            raise ValueError(f"{url} is not on this machine: only https:// goes there")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def get(self, path: str, limit: int = _SMALL) -> bytes:
        """What is at a path, if it has at most ``limit`` bytes."""
        return self._ask("GET", path, None, limit)

    def post(self, path: str, content: dict[str, Any]) -> bytes:
        """Send one JSON object."""
        return self._ask("POST", path, json.dumps(content, separators=(",", ":")).encode(), _SMALL)

    def _ask(self, method: str, path: str, body: bytes | None, limit: int) -> bytes:
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        try:
            self._wire.request(method, path, body, headers)
            response = self._wire.getresponse()
            content = response.read(limit + 1)
        except (OSError, http.client.HTTPException) as error:
            self._wire.close()
            raise Unreachable(f"the collector cannot be reached: {error}") from error
        if len(content) > limit:
            self._wire.close()
            raise Unreachable(f"the collector sent over {limit} bytes")
        if response.status in (408, 429) or response.status >= 500:
            self._wire.close()
            raise Unreachable(f"the collector is busy ({response.status})")
        if response.status >= 300:
            raise CollectorRefused(response.status, content[:200].decode("utf-8", "replace"))
        return content
