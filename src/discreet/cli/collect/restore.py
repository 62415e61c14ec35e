"""``discreet collect restore``: put a copy of a store back."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.collect.options import say
from discreet.cli.output import json_option

__all__ = ["restore_command"]


@click.command("restore")
@click.argument("backup", type=click.Path(path_type=Path))
@click.option(
    "--store", required=True, type=click.Path(path_type=Path), help="Where to; no file may be there."
)
@json_option
def restore_command(backup: Path, store: Path, as_json: bool) -> None:
    """Make a store from BACKUP, checked, for a collector that is to be started.

    What was accepted after the copy was taken is lost: devices do not send it again.

    \b
    Example:
      discreet collect restore monday.sqlite --store collector.sqlite
    """
    from discreet.devices.collector.backup import restore

    say({"store": str(store), "tasks": restore(backup, store)}, as_json)
