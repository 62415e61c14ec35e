"""Run a collector's application behind limits on size and time, on an address that may be used."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Scope

from discreet.devices.collector.cross_origin import allowing
from discreet.devices.collector.limits import Bodies
from discreet.devices.collector.settings import ServiceSettings
from discreet.devices.collector.web_server import run_server
from discreet.operations import Counts

__all__ = ["run_app"]


def run_app(
    app: ASGIApp,
    settings: ServiceSettings,
    counts: Counts,
    limit: Callable[[Scope], int],
    check: Callable[[], None],
    ready: Callable[[str], None],
) -> None:
    """Serve until told to stop.

    ``limit`` says how large a request may be, by its head; ``check`` refuses a store that cannot be used, before
    anything is bound; ``ready`` is called with the address when it is.
    """
    local = settings.token is None
    app = allowing(app, settings.allow_origin)
    run_server(settings, Bodies(app, limit, counts, local=local), ready, check)
