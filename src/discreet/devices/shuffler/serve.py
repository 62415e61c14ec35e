"""Run the shuffler."""

from __future__ import annotations

from collections.abc import Callable

from discreet.devices.collector.listen import run_app
from discreet.devices.shuffler.app import make_app
from discreet.devices.shuffler.settings import ShufflerSettings, read_key
from discreet.devices.shuffler.store import ShufflerStore
from discreet.operations import Counts

__all__ = ["serve"]


def serve(settings: ShufflerSettings, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until told to stop; ``ready`` is called with the address when it is bound."""
    settings.check()
    opener, counts = read_key(settings.own_key), Counts()
    run_app(
        make_app(settings, opener, counts),
        settings,
        counts,
        lambda scope: settings.largest_body,
        lambda: ShufflerStore(settings.store).close(),
        ready,
    )
