"""``discreet serve``: a model behind HTTP, and the page, until it is stopped."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from discreet.cli.output import json_option, print_json
from discreet.errors import SettingsInvalid

__all__ = ["command"]


@click.command("serve")
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one."
)
@click.option("--token-file", help="File with the token that requests need.")
@click.option(
    "--anyone", is_flag=True, help="Answer whoever reaches the address: behind a proxy that ends TLS."
)
@click.option("--page/--no-page", default=True, show_default=True, help="Serve the page as well.")
@click.option(
    "--watch",
    default=2.0,
    show_default=True,
    help="Seconds between looks for a new model; 0: never.",
)
@click.option("--largest-body", default=1 << 18, show_default=True, help="Most bytes in a request.")
@json_option
def command(as_json: bool, token_file: str | None, **options: Any) -> None:
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

    try:
        settings = ServiceSettings(token=read_token(token_file), **options)
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsInvalid(f"{first['loc'][0]}: {first['msg']}") from None

    def ready(address: str) -> None:
        if as_json:
            print_json({"address": address})
        else:
            click.echo(f"Serving {settings.model} at {address}; Ctrl-C ends it.")

    try:
        serve(settings, ready)
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
