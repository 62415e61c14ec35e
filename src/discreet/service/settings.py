"""Where the service listens, and what it allows; nothing beyond this machine unless that is said."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from discreet.devices.collector.settings import SHORTEST_TOKEN
from discreet.errors import SettingsInvalid

__all__ = ["ServiceSettings"]


class ServiceSettings(BaseModel):
    """How to serve.

    Parameters
    ----------
    model
        The model folder. What replaces it is served as soon as it is seen.
    host, port
        Where to listen; ``localhost`` is 127.0.0.1, whatever a resolver says; port 0 takes a free one.
    token
        What every request but those about health must present. Without one, nobody who calls this machine by another
        name than localhost or 127.0.0.1 is answered, unless ``anyone`` is set.
    anyone
        Answer whoever reaches the address, as behind a proxy that ends TLS, with or without a token.
    page
        Serve the page that recommends in the browser.
    watch
        Seconds between looks at the model folder; 0 means to look when told to (SIGHUP) and at no other time.
    largest_body
        Most bytes in a request.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    model: Path
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    token: str | None = None
    anyone: bool = False
    page: bool = True
    watch: Annotated[float, Field(ge=0)] = 2.0
    largest_body: Annotated[int, Field(ge=1024)] = 1 << 18

    @field_validator("host")
    @classmethod
    def _name_loopback(cls, host: str) -> str:
        return "127.0.0.1" if host.lower() == "localhost" else host

    def check(self) -> None:
        """Refuse to listen where others could read histories on their way, or ask without leave."""
        token = self.token
        if token is not None and (
            len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()
        ):
            raise SettingsInvalid(f"a token must be at least {SHORTEST_TOKEN} printable ASCII characters")
        if not self.is_loopback and not self.anyone:
            raise SettingsInvalid(
                f"{self.host} can be reached from other machines: that needs --anyone, where something in front of it "
                "ends TLS. Listen on 127.0.0.1 to do without"
            )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False
