"""``discreet collect shuffle``: a shuffler that runs until it is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.collect.group import check_extra
from discreet.cli.collect.options import checked, service_options, when_ready
from discreet.cli.output import json_option

__all__ = ["shuffle_command"]


@click.command("shuffle")
@service_options(8643)
@click.option("--collector", required=True, metavar="URL", help="The collector to hand batches to.")
@click.option("--collector-token-file", help="File with the token that the collector wants of its shuffler.")
@click.option("--authorities", help="File with the certificates to trust, if not the system's.")
@click.option(
    "--own-key",
    required=True,
    type=click.Path(path_type=Path),
    help="File with the shuffler's private key; made if it is not there.",
)
@click.option(
    "--batch",
    required=True,
    type=click.IntRange(2),
    help="Fewest reports that are mixed and handed on together, whatever less a task asks for.",
)
@click.option(
    "--every", default=60.0, show_default=True, help="Fewest seconds between two batches of a round."
)
@json_option
def shuffle_command(
    as_json: bool,
    token_file: str | None,
    device_token_file: str | None,
    collector_token_file: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Serve a shuffler between devices and a collector until Ctrl-C.

    It learns who answers and not what; the collector learns what and not who. Run it where whoever runs the
    collector has no say: one hand with both keys undoes it.

    \b
    Example:
      discreet collect shuffle --store shuffler.sqlite --own-key shuffler.key --batch 1000 \\
          --collector http://127.0.0.1:8642
    """
    check_extra()
    from discreet.devices.collector.settings import read_token
    from discreet.devices.shuffler.serve import serve
    from discreet.devices.shuffler.settings import ShufflerSettings

    settings = checked(
        ShufflerSettings,
        token=read_token(token_file),
        device_token=read_token(device_token_file),
        collector_token=read_token(collector_token_file),
        log=not quiet,
        **options,
    )
    try:
        serve(settings, when_ready("Shuffling", as_json))
    except KeyboardInterrupt:
        click.echo("Stopped; what was accepted and is not handed on yet is stored.", err=True)
