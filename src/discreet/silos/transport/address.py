"""Where a server listens: ``HOST:PORT`` as a person writes it, and back as silos write it."""

from __future__ import annotations

import socket

from discreet.errors import SettingsInvalid

__all__ = ["listen", "url_of"]


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
