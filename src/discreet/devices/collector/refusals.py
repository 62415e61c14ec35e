"""Every refusal is counted by its kind, and answered with a status and one sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from discreet.devices.collector.messages import explain
from discreet.devices.collector.refused import NOT_WRITTEN, Refused
from discreet.operations import Counts

__all__ = ["add_errors"]


def add_errors(app: FastAPI, counts: Counts) -> None:
    """Let the application answer whatever is raised in a request."""

    def say(status: int, why: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
        counts.refuse(status)
        return JSONResponse({"error": why}, status_code=status, headers=headers)

    async def refused(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Refused)
        again = None if error.retry_after is None else {"retry-after": str(error.retry_after)}
        return say(error.status, error.why, again)

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ValidationError | RequestValidationError)
        return say(422, explain(error.errors()))

    async def missing(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return say(error.status_code, str(error.detail), error.headers)

    async def broken(_: Request, error: Exception) -> JSONResponse:
        status, why, seconds = NOT_WRITTEN
        return say(status, why, {"retry-after": str(seconds)})

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(ValidationError, invalid)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, missing)
    app.add_exception_handler(sqlite3.Error, broken)
