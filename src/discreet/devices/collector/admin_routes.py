"""What whoever runs tasks may ask of a collector: create, end rounds, count, delete, and see how it is."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse

from discreet.devices.collector.messages import Close, Delete
from discreet.devices.collector.refused import Refused
from discreet.devices.collector.state import State
from discreet.devices.collector.task import Task
from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.collector.tasks import Tasks

__all__ = ["add_admin_routes"]


def add_admin_routes(app: FastAPI, state: State) -> None:
    """Routes that need the operator's token."""

    def admitted(request: Request) -> Tasks:
        state.admit(request.headers.get("authorization", "").encode(), state.settings.token)
        if request.method == "POST" and not _is_json(request):
            raise Refused(415, "send application/json")  # what a web page elsewhere cannot send unasked
        return state.tasks

    @app.post("/v1/tasks", status_code=201)
    async def create(request: Request) -> JSONResponse:
        tasks = admitted(request)
        config = await asyncio.to_thread(TaskConfig.model_validate_json, await request.body())
        return JSONResponse(_describe(await tasks.create(config)), status_code=201)

    @app.post("/v1/tasks/{task}/close")
    async def close(task: str, request: Request) -> JSONResponse:
        tasks = admitted(request)
        asked = Close.model_validate_json(await request.body())
        reports = await tasks.close(task, asked.round)
        return JSONResponse({"task": task, "released": asked.round, "reports": reports})

    @app.get("/v1/tasks/{task}/count")
    async def count(task: str, request: Request) -> JSONResponse:
        tasks = admitted(request)
        found, minimum = await tasks.count(task), tasks.get(task).config.minimum
        return JSONResponse(
            {"task": task, "round": found.round, "reports": found.reports, "minimum": minimum}
        )

    @app.post("/v1/tasks/{task}/delete")
    async def delete(task: str, request: Request) -> JSONResponse:
        tasks = admitted(request)
        asked = Delete.model_validate_json(await request.body())
        if asked.what == "reports":
            return JSONResponse({"task": task, "deleted": await tasks.delete_reports(task)})
        await tasks.delete(task)
        return JSONResponse({"task": task, "deleted": "task"})

    @app.get("/metrics")
    async def metrics(request: Request) -> PlainTextResponse:
        admitted(request)
        return PlainTextResponse(await state.metrics(), media_type="text/plain; version=0.0.4")


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").startswith("application/json")


def _describe(task: Task) -> dict[str, Any]:
    return {"terms": json.loads(task.config.terms.to_json()), "question": json.loads(task.asked)}
