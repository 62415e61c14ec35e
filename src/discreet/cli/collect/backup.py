"""``discreet collect backup``: a copy of a collector's store, taken while it runs."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.collect.options import say
from discreet.cli.output import json_option

__all__ = ["backup_command"]


@click.command("backup")
@click.option("--store", required=True, type=click.Path(path_type=Path), help="The collector's store.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where to put the copy.")
@json_option
def backup_command(store: Path, out: Path, as_json: bool) -> None:
    """Copy the store of a collector, running or not, as it is at one moment.

    The copy has everything the store has.

    \b
    Example:
      discreet collect backup --store collector.sqlite --out monday.sqlite
    """
    from discreet.devices.collector.backup import back_up

    back_up(store, out)
    say({"out": str(out), "bytes": out.stat().st_size}, as_json)
