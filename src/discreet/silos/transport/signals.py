"""How a server ends: by itself, or when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any

__all__ = ["run_until_stopped"]


def run_until_stopped(serving: Coroutine[Any, Any, None]) -> bool:
    """Run to the end, or until SIGINT or SIGTERM; whether it reached the end."""

    async def stoppable() -> bool:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # on Windows Ctrl-C ends asyncio.run by itself
                loop.add_signal_handler(number, task.cancel)
        try:
            await serving
        except asyncio.CancelledError:
            return False
        return True

    return asyncio.run(stoppable())
