"""``discreet collect serve``: a collector that runs until it is stopped."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.collect.group import check_extra
from discreet.cli.collect.options import checked, service_options, when_ready
from discreet.cli.output import json_option

__all__ = ["serve_command"]


@click.command("serve")
@service_options(8642)
@click.option(
    "--keep-days", type=float, help="Delete a round's reports so long after its release; default: never."
)
@json_option
def serve_command(
    as_json: bool,
    token_file: str | None,
    device_token_file: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Serve a collector until Ctrl-C.

    It listens on this machine alone unless there is a proxy in front of it and a token. No addresses are stored or
    logged; refusals are counted by kind. A report is answered once it is on disk.

    \b
    Example:
      discreet collect serve --store collector.sqlite
    """
    check_extra()
    from discreet.devices.collector.serve import serve
    from discreet.devices.collector.settings import CollectorSettings, read_token

    settings = checked(
        CollectorSettings,
        token=read_token(token_file),
        device_token=read_token(device_token_file),
        log=not quiet,
        **options,
    )
    try:
        serve(settings, when_ready("Collecting", as_json))
    except KeyboardInterrupt:
        click.echo("Stopped; everything that was accepted is stored.", err=True)
