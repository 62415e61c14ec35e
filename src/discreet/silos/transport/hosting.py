"""A server's life from its store to a saved model."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ModelInvalid, SettingsInvalid
from discreet.model import Model
from discreet.model.storage import check_target

__all__ = ["check_out", "listen", "run_until_stopped", "save_once", "url_of"]


def listen(address: str) -> socket.socket:
    """A listening socket for ``HOST:PORT``; port 0 takes a free one."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise SettingsInvalid(
            f"{address!r} is not an address to listen on; write HOST:PORT, such as 0.0.0.0:8443"
        )
    bare = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    try:
        bare.encode("idna")
        return socket.create_server((bare, int(port)), family=family, backlog=64)
    except UnicodeError:
        raise SettingsInvalid(f"cannot listen on {address}: this is no host name") from None
    except OSError as error:
        raise SettingsInvalid(f"cannot listen on {address}: {error.strerror or error}") from None


def url_of(listener: socket.socket) -> str:
    """The address of a listening socket as silos write it."""
    host, port = listener.getsockname()[:2]
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def check_out(out: str | Path, *, begun: bool, overwrite: bool) -> None:
    """Refuse at once a place where the model cannot be put; a run that had begun may find its own model there."""
    check_target(out, overwrite=overwrite or begun)


def save_once(model: Model, out: str | Path, *, overwrite: bool) -> None:
    """Save the model, unless this very model is there already: a server that was killed afterwards starts again."""
    target = Path(out)
    if not overwrite and target.is_dir() and any(target.iterdir()):
        if _same(Model.load(target), model):
            return
        raise ModelInvalid(f"{target} already has another model; choose another name, or give --force")
    model.save(target, overwrite=overwrite)


def _same(one: Model, other: Model) -> bool:
    return (
        one.catalogue == other.catalogue
        and one.statement == other.statement
        and np.array_equal(one.item_side.offsets, other.item_side.offsets)
        and np.array_equal(one.item_side.factors, other.item_side.factors)
    )


def run_until_stopped(serving: Coroutine[Any, Any, None]) -> bool:
    """Run to the end, or until SIGINT or SIGTERM; whether it reached the end."""

    async def stoppable() -> bool:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        try:
            await serving
        except asyncio.CancelledError:
            return False
        return True

    return asyncio.run(stoppable())
