"""Batches from a shuffler: sealed reports without names, opened here and kept like any others.

Who sent which is not in them. A batch sent again changes nothing: a report is known by its own name.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from discreet.devices.collector.messages import Batch
from discreet.devices.collector.refused import OVERLOADED, Refused
from discreet.devices.collector.state import State
from discreet.devices.collector.store import RECORD
from discreet.devices.collector.task import Task
from discreet.devices.collector.writer import Overloaded, Verdict
from discreet.devices.device.shuffled import SEALED_BYTES, report_info

__all__ = ["add_shuffle_routes"]


def add_shuffle_routes(app: FastAPI, state: State) -> None:
    """What a shuffler asks: a task's terms with the collector's key, and to take in a batch."""
    settings = state.settings

    @app.get("/v1/tasks/{task}/shuffle")
    async def offer(task: str, request: Request) -> JSONResponse:
        given = request.headers.get("authorization", "").encode()
        state.admit(given, settings.device_token, settings.token, settings.shuffler_token)
        found = state.tasks.get(task)
        if found.opener is None:
            raise Refused(404, "this task has no shuffler")
        key = found.opener.public_key
        return JSONResponse(await asyncio.to_thread(found.config.offer, key))

    @app.post("/v1/batches")
    async def batches(request: Request) -> JSONResponse:
        state.admit(request.headers.get("authorization", "").encode(), settings.shuffler_token)
        if not request.headers.get("content-type", "").startswith("application/json"):
            raise Refused(415, "a batch is application/json")
        batch = Batch.model_validate_json(await request.body())
        return JSONResponse(await _keep(state, batch))


async def _keep(state: State, batch: Batch) -> dict[str, Any]:
    task = state.tasks.get(batch.task)
    question = task.question
    if task.opener is None:
        raise Refused(403, "this task has no shuffler")
    if question is None or batch.round < question.round:
        raise Refused(410, "this round takes no more reports")
    if batch.round > question.round:
        raise Refused(409, "this round is not open yet")
    records = await asyncio.to_thread(_open, task, batch)
    try:
        kept = [state.writer.keep(task.id, batch.round, record) for record in records]
    except Overloaded:
        raise Refused(*OVERLOADED) from None
    verdicts = await asyncio.gather(*kept)
    if Verdict.LATE in verdicts:
        raise Refused(410, "this round takes no more reports")
    good = verdicts.count(Verdict.KEPT)
    state.counts.accepted += good
    for _ in range(batch.count - good):
        state.counts.refuse(422)
    return {"kept": good, "refused": batch.count - good}


def _open(task: Task, batch: Batch) -> list[bytes]:
    """The reports that can be opened and are for this round's devices."""
    question, opener = task.question, task.opener
    assert question is not None
    assert opener is not None
    sealed, info = bytes.fromhex(batch.reports), report_info(batch.task, batch.round)
    opened = [
        opener.open(sealed[start : start + SEALED_BYTES], info)
        for start in range(0, len(sealed), SEALED_BYTES)
    ]
    return [
        record
        for record in opened
        if record is not None
        and len(record) == RECORD
        and record[-1] in (0, 1)
        and question.takes_part(record[:-1])
    ]
