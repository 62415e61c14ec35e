"""Where the collector listens, and what it allows; nothing beyond this machine without encryption and a token."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from discreet.errors import SettingsInvalid

__all__ = ["CollectorSettings", "read_token"]

SHORTEST_TOKEN = 16


class CollectorSettings(BaseModel):
    """How to serve.

    Parameters
    ----------
    store
        The file that holds everything.
    host, port
        Where to listen; ``localhost`` is 127.0.0.1, whatever a resolver says; port 0 takes a free one.
    certificate, key
        Files for TLS; both or neither.
    token
        What whoever creates tasks or ends rounds must present. Without one, anybody on this machine may,
        and nobody who calls it by another name than localhost or 127.0.0.1 is answered.
    device_token
        What devices must present, if anything.
    rate, burst
        Requests a second from one address, and how many at once; a rate of 0 means no limit, for a collector
        behind a proxy that has one.
    connections, all_connections
        Most open connections of one address, and of all together.
    shuffler_token
        What a shuffler must present to hand in batches, if anything.
    log
        Write a log of JSON lines to standard error.
    keep_days
        Delete a round's reports so many days after its release; left out, they stay.
    tick
        Seconds between two looks at the rules by which rounds end and reports are deleted.
    largest_body, largest_task
        Most bytes in a request; and in one that creates a task, item list included, from whoever may create tasks.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    store: Path
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8642
    certificate: Path | None = None
    key: Path | None = None
    token: str | None = None
    device_token: str | None = None
    shuffler_token: str | None = None
    log: bool = False
    keep_days: Annotated[float, Field(ge=0)] | None = None
    tick: Annotated[float, Field(gt=0)] = 10.0
    rate: Annotated[float, Field(ge=0)] = 100.0
    burst: Annotated[float, Field(ge=2)] = 400.0
    connections: Annotated[int, Field(ge=1)] = 64
    all_connections: Annotated[int, Field(ge=1)] = 4096
    largest_body: Annotated[int, Field(ge=256)] = 16_384
    largest_task: Annotated[int, Field(ge=256)] = 1 << 28

    @field_validator("host")
    @classmethod
    def _name_loopback(cls, host: str) -> str:
        return "127.0.0.1" if host.lower() == "localhost" else host

    def check(self) -> None:
        """Refuse to listen where others could read or command without leave."""
        if (self.certificate is None) != (self.key is None):
            raise SettingsInvalid("TLS needs both a certificate and its key; give both or neither")
        for path in (self.certificate, self.key):
            if path is not None and not path.is_file():
                raise SettingsInvalid(f"there is no file {path}")
        for token in (self.token, self.device_token, self.shuffler_token):
            if token is not None and (
                len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()
            ):
                raise SettingsInvalid(f"a token must be at least {SHORTEST_TOKEN} printable ASCII characters")
        if not self.is_loopback and (self.certificate is None or self.token is None):
            raise SettingsInvalid(
                f"{self.host} can be reached from other machines: that needs --certificate, --key and --token-file."
                " Listen on 127.0.0.1 to do without"
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def read_token(path: str | Path | None) -> str | None:
    """A token from a file; on a command line everybody on the machine could read it."""
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"the token cannot be read from {path}: {error}") from error
