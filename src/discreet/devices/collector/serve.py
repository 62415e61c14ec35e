"""Run the collector."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from starlette.types import Scope

from discreet.devices.collector.app import make_app
from discreet.devices.collector.limits import presents
from discreet.devices.collector.listen import run_app
from discreet.devices.collector.settings import CollectorSettings
from discreet.devices.collector.store import Store
from discreet.devices.collector.task import read_tasks
from discreet.operations import Counts

__all__ = ["serve"]


def serve(settings: CollectorSettings, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until told to stop; ``ready`` is called with the address when it is bound."""
    settings.check()
    counts = Counts()

    def check() -> None:
        """A store that cannot be used is a person's mistake, not a failed start."""
        with closing(Store(settings.store)) as store:
            read_tasks(store)

    run_app(make_app(settings, counts), settings, counts, _limit(settings), check, ready)


def _limit(settings: CollectorSettings) -> Callable[[Scope], int]:
    """How large a request's body may be: only who may create tasks can send a whole item list."""

    def limit(scope: Scope) -> int:
        headers = dict(scope["headers"])
        creates = scope["method"] == "POST" and scope["path"] == "/v1/tasks"
        is_json = headers.get(b"content-type", b"").startswith(b"application/json")
        may = creates and is_json and presents(headers.get(b"authorization", b""), settings.token)
        return settings.largest_task if may else settings.largest_body

    return limit
