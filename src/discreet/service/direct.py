"""The usual request, answered without the framework: POST /recommend with a body that is as it should be.

FastAPI takes longer to find a handler, to solve its parameters and to wrap its answer than the list takes to make. What
is well formed is read by the same model of a request and answered by the same code; everything else goes on to the
framework, which says what is wrong with it.
"""

from __future__ import annotations

from fastapi import FastAPI
from pydantic import ValidationError
from starlette.types import Message, Receive, Scope, Send

from discreet.errors import DiscreetError
from discreet.service.app import listed, refusal
from discreet.service.current import Current
from discreet.service.messages import RecommendRequest

__all__ = ["Direct"]


class Direct:
    """ASGI layer between the limits, which hand over whole bodies, and the application."""

    def __init__(self, app: FastAPI, current: Current) -> None:
        self._app, self._current, self._batches = app, current, app.state.batches

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if not _usual(scope):
            await self._app(scope, receive, send)
            return
        message = await receive()
        request = _read(message)
        if request is None:
            await self._app(scope, _again(message, receive), send)
            return
        prepared = self._current.served.prepared
        try:
            found = await self._batches.recommend(prepared, prepared.person(request))
            response = listed(found, prepared.digest)
        except DiscreetError as error:
            response = refusal(422, str(error))
        await response(scope, receive, send)


def _usual(scope: Scope) -> bool:
    return (
        scope["type"] == "http"
        and scope["path"] == "/recommend"
        and scope["method"] == "POST"
        and (b"content-type", b"application/json") in scope["headers"]
    )


def _read(message: Message) -> RecommendRequest | None:
    if message["type"] != "http.request" or message.get("more_body", False):
        return None
    try:
        return RecommendRequest.model_validate_json(message.get("body", b""))
    except ValidationError:
        return None


def _again(message: Message, receive: Receive) -> Receive:
    """What was taken is handed over first."""
    waiting = [message]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
