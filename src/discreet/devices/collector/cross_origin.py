"""Web pages of other origins that may be devices, where the operator names them; by default there are none.

A browser lets a page of one origin read what another says only if that other names it (CORS). Requests are neither
authenticated nor limited by it: tokens and limits hold for pages as for everybody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

__all__ = ["allowing", "is_origin"]

# Whoever can read the page's traffic can change the page, so that a name of the network needs encryption.
_ORIGIN = re.compile(
    r"(https://[a-z0-9.-]{1,253}|http://(localhost|127\.0\.0\.1))(:[1-9][0-9]{0,4})?", re.ASCII
)
_SECONDS = 600


def is_origin(text: str) -> bool:
    """Whether this names one origin as browsers do: scheme, host in small letters, port if it is not the usual one."""
    return _ORIGIN.fullmatch(text) is not None


def allowing(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """The application, whose answers pages of these origins may read: what a device sends and asks, no cookies."""
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=("GET", "POST"),
        allow_headers=("authorization", "content-type"),
        max_age=_SECONDS,
    )
