"""What a device was asked, answered and spent: all of it, for the person it belongs to, and as a page."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from .store import DeviceStore

__all__ = ["MODULE", "page", "page_file", "transcript"]

MODULE = "discreet-device.js"
_IMPORT = 'import { BrowserStore, Device, explain } from "./discreet-device.js";'
_EMPTY = '<script type="application/json" id="transcript">null</script>'


def transcript(store: DeviceStore) -> dict[str, Any]:
    """Tasks, questions, bits and costs; of the ratings only how many there are."""
    return {
        "ratings": len(store.ratings()),
        "cap": store.cap(),
        "spent": float(store.spent_in_all()),
        "tasks": [_task(store, task) for task in store.tasks()],
    }


def _task(store: DeviceStore, task: str) -> dict[str, Any]:
    rounds = [{**seen._asdict(), "asked": json.loads(seen.asked)} for seen in store.rounds(task)]
    return {
        "task": task,
        "agreed": store.terms(task).epsilon,
        "spent": float(store.spent(task)),
        "left": store.has_left(task),
        "device": store.device(task).hex(),
        "rounds": rounds,
    }


def page_file(name: str) -> str:
    """The text of a file beside this one: the page as it is served, or the module that it loads."""
    return (files(__package__) / "javascript" / name).read_text(encoding="utf-8")


def page(found: dict[str, Any] | None = None) -> str:
    """The page in one file that opens without a server: the module is in it, and the transcript if there is one."""
    text = page_file("page.html")
    data = json.dumps(found).replace("<", "\\u003c")  # nothing in it can end the script
    for old, new in ((_IMPORT, page_file(MODULE)), (_EMPTY, _EMPTY.replace("null", data))):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text
