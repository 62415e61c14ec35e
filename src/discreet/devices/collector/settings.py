"""Where services listen, and what they allow; nothing beyond this machine without a proxy and a token."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from discreet.devices.collector.cross_origin import is_origin
from discreet.errors import SettingsInvalid

__all__ = ["CollectorSettings", "ServiceSettings", "read_token"]

SHORTEST_TOKEN = 16


class ServiceSettings(BaseModel):
    """Where a service listens, and how much it allows.

    Parameters
    ----------
    store
        The file that holds everything.
    host, port
        Where to listen; ``localhost`` is 127.0.0.1, whatever a resolver says; port 0 takes a free one.
    behind_proxy
        Whether a proxy in front of it ends TLS; without one it listens on this machine alone.
    token
        What whoever runs the service must present to command it. Without one, anybody on this machine may,
        and nobody who calls it by another name than localhost or 127.0.0.1 is answered.
    device_token
        What devices must present, if anything.
    largest_body
        Most bytes in a request.
    allow_origin
        Origins of web pages that may be devices, each like ``https://shop.example``; none unless they are named.
    log
        Write a log of JSON lines to standard error.
    tick
        Seconds between two looks at what is to be done without being asked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    store: Path
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8642
    behind_proxy: bool = False
    token: str | None = None
    device_token: str | None = None
    largest_body: Annotated[int, Field(ge=256)] = 16_384
    allow_origin: tuple[str, ...] = ()
    log: bool = False
    tick: Annotated[float, Field(gt=0)] = 10.0

    @field_validator("host")
    @classmethod
    def _name_loopback(cls, host: str) -> str:
        return "127.0.0.1" if host.lower() == "localhost" else host

    def check(self) -> None:
        """Refuse to listen where others could read or command without leave."""
        for token in (self.token, self.device_token):
            if token is not None and (
                len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()
            ):
                raise SettingsInvalid(f"a token must be at least {SHORTEST_TOKEN} printable ASCII characters")
        for origin in self.allow_origin:
            if not is_origin(origin):
                raise SettingsInvalid(
                    f"--allow-origin {origin}: name one origin as browsers do, such as https://shop.example; http"
                    " for this machine alone"
                )
        if self.allow_origin and self.token is None:
            raise SettingsInvalid(
                "--allow-origin needs --token-file: without a token, pages of that origin could command this service"
            )
        if not self.is_loopback and not (self.behind_proxy and self.token is not None):
            raise SettingsInvalid(
                f"{self.host} can be reached from other machines: that needs --behind-proxy, where something in front "
                "of it ends TLS, and --token-file. Listen on 127.0.0.1 to do without"
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class CollectorSettings(ServiceSettings):
    """How to serve a collector; beside what any service needs:

    Parameters
    ----------
    keep_days
        Delete a round's reports so many days after its release; left out, they stay.
    largest_task
        Most bytes in a request that creates a task, item list included, from whoever may create tasks.
    """

    keep_days: Annotated[float, Field(ge=0)] | None = None
    largest_task: Annotated[int, Field(ge=256)] = 1 << 28


def read_token(path: str | Path | None) -> str | None:
    """A token from a file; on a command line everybody on the machine could read it."""
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"the token cannot be read from {path}: {error}") from error
