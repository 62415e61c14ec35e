"""Where the shuffler listens, whose reports it mixes, and how many at least."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import Field

from discreet.devices.collector.settings import ServiceSettings
from discreet.devices.sealing import Opener, new_secret
from discreet.errors import SettingsInvalid

__all__ = ["ShufflerSettings", "read_key"]

_DIGITS = re.compile(r"[0-9a-f]{64}\Z")


class ShufflerSettings(ServiceSettings):
    """How to serve a shuffler; beside what any service needs:

    Parameters
    ----------
    collector
        Address of the collector, ``http(s)://host:port``.
    collector_token
        What the collector wants a shuffler to present, if anything.
    authorities
        File with the certificates to trust in the collector's name, if not the system's.
    own_key
        File with the shuffler's private key; made if it is not there.
    batch
        Fewest reports that are mixed and handed on together, whatever less a task asks for: the collector must not
        be able to choose one.
    every
        Fewest seconds between two batches of a round; longer makes larger batches, which hide better.
    """

    port: Annotated[int, Field(ge=0, le=65535)] = 8643
    collector: str
    collector_token: str | None = None
    authorities: str | None = None
    own_key: Path
    batch: Annotated[int, Field(ge=2)]
    every: Annotated[float, Field(ge=0)] = 60.0

    @property
    def tokens(self) -> tuple[str | None, ...]:
        """All tokens, to be checked."""
        return (self.token, self.device_token, self.collector_token)


def read_key(path: Path) -> Opener:
    """The shuffler's key from its file, which its owner alone can read; a new one where there is no file."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    except OSError as error:
        raise SettingsInvalid(f"the shuffler's key cannot be made at {path}: {error.strerror}") from error
    else:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(new_secret().hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"the shuffler's key cannot be read from {path}: {error}") from error
    if not _DIGITS.match(text):
        raise SettingsInvalid(f"{path} is not a shuffler's key: 64 digits of 0-9 and a-f")
    return Opener(bytes.fromhex(text))
