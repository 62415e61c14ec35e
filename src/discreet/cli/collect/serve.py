"""``discreet collect serve``: a collector that runs until it is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from discreet.cli.collect.group import check_extra
from discreet.cli.output import json_option, print_json
from discreet.errors import SettingsInvalid

__all__ = ["serve_command"]


@click.command("serve")
@click.option("--store", required=True, type=click.Path(path_type=Path), help="File that holds everything.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8642, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one."
)
@click.option("--certificate", type=click.Path(path_type=Path), help="TLS certificate (PEM).")
@click.option("--key", type=click.Path(path_type=Path), help="Its key (PEM).")
@click.option("--token-file", help="File with the token that creating tasks and ending rounds needs.")
@click.option("--device-token-file", help="File with a token that devices need.")
@click.option(
    "--rate", default=100.0, show_default=True, help="Requests a second from one address; 0: no limit."
)
@click.option("--burst", default=400.0, show_default=True, help="How many of them at once.")
@click.option("--connections", default=64, show_default=True, help="Most open connections of one address.")
@click.option("--all-connections", default=4096, show_default=True, help="Most open connections.")
@json_option
def serve_command(
    as_json: bool, token_file: str | None, device_token_file: str | None, **options: Any
) -> None:
    """Serve a collector until Ctrl-C.

    It listens on this machine alone unless there is a certificate and a token. No addresses are stored or
    logged. A report is answered once it is on disk.

    \b
    Example:
      discreet collect serve --store collector.sqlite
    """
    check_extra()
    from discreet.devices.collector.serve import serve
    from discreet.devices.collector.settings import CollectorSettings, read_token

    try:
        settings = CollectorSettings(
            token=read_token(token_file), device_token=read_token(device_token_file), **options
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsInvalid(f"{first['loc'][0]}: {first['msg']}") from None

    def ready(address: str) -> None:
        if as_json:
            print_json({"address": address})
        else:
            click.echo(f"Collecting at {address}; Ctrl-C ends it.")

    try:
        serve(settings, ready)
    except KeyboardInterrupt:
        click.echo("Stopped; everything that was accepted is stored.", err=True)
