"""Flower, where it is installed, and the one record that its messages carry."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from discreet.errors import SettingsInvalid

__all__ = ["flower", "pack", "unpack"]

_RECORD = "discreet"


def flower() -> ModuleType:
    """The package, with the modules that an app is made of."""
    try:
        import flwr.app
        import flwr.clientapp
        import flwr.serverapp
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "flwr":
            raise
        raise SettingsInvalid(
            "running under Flower needs Flower; install it with: pip install 'discreet[flower]'"
        ) from None
    module: ModuleType = flwr
    return module


def pack(fields: Mapping[str, str | bytes]) -> Any:
    """Content of a message."""
    app = flower().app
    return app.RecordDict({_RECORD: app.ConfigRecord(dict(fields))})


def unpack(content: Any) -> dict[str, Any]:
    """Fields of a message's content; none of them where it is not one of ours."""
    record = content.config_records.get(_RECORD)
    return {} if record is None else dict(record)
