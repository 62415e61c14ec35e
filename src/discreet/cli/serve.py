"""``discreet serve``: a model behind HTTP, and the page, until it is stopped."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from discreet.cli.output import Output, print_json
from discreet.cli.request import argument, option, takes
from discreet.errors import SettingsInvalid

__all__ = ["command"]


class _Asked(Output):
    model: Path = argument("MODEL")
    host: str = option("Address to listen on.", "127.0.0.1")
    port: int = option("0 takes a free one.", 8080, ge=0, le=65535)
    token_file: str | None = option("File with the token that requests need.")
    anyone: bool = option("Answer whoever reaches the address: behind a proxy that ends TLS.")
    page: bool = option("Serve the page as well.", True, name="--page/--no-page")
    watch: float = option("Seconds between looks for a new model; 0: never.", 2.0, ge=0)
    largest_body: int = option("Most bytes in a request.", 1 << 18, ge=1024)


@takes(_Asked, "serve")
def command(request: _Asked) -> None:
    """Serve a MODEL over HTTP, with a page that recommends in the browser.

    Lists from posted histories, similar items, search, statement, health and metrics. It
    holds no ratings, logs no histories and draws no noise. It listens on this machine alone; a proxy in front of it
    ends TLS and limits what one address may ask (deploy/nginx.conf).

    A new model put in the place of the old one is served without a pause.

    \b
    Examples:
      discreet serve model/
      curl -H 'content-type: application/json' -d '{"history": [{"item": "item-17", "rating": 5}]}' \\
        http://127.0.0.1:8080/recommend
      discreet serve model/ --host 0.0.0.0 --anyone --token-file token
    """
    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "prometheus_client")):
        raise SettingsInvalid(
            "a service needs starlette, uvicorn and prometheus-client; install them with: pip install 'discreet[serve]'"
        )
    from discreet.web.server import read_token
    from discreet.web.service import ServiceSettings, serve

    options = request.model_dump(exclude={"as_json", "token_file"})
    settings = ServiceSettings(token=read_token(request.token_file), **options)

    def ready(address: str) -> None:
        if request.as_json:
            print_json({"address": address})
        else:
            click.echo(f"Serving {settings.model} at {address}; Ctrl-C ends it.")

    try:
        serve(settings, ready)
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
