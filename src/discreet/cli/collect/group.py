"""``discreet collect``: the collector of answers from devices, its tasks, the model, and a run with real devices."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import click

from discreet.errors import SettingsInvalid

__all__ = ["COMMANDS", "Collect", "check_extra", "command"]

# In the order they are worth reading; each is in the module of its name.
COMMANDS = ("simulate", "serve", "task", "model", "backup", "restore")


class Collect(click.Group):
    """Loads a command's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order they are worth reading."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or ``None``."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"discreet.cli.collect.{cmd_name}")
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found


@click.command("collect", cls=Collect)
def command() -> None:
    """Collect one noisy bit per device and round; there is nothing in it to trust.

    \b
    Example, all on this machine:
      discreet collect simulate --devices 300 --items 40 --ratings 10 --out model/
    \b
    In earnest:
      discreet collect serve --store collector.sqlite    (one machine)
      discreet collect task create URL films ...         (once; opens the first round)
      discreet collect task close URL films 1            (when enough devices have answered; opens the next)
      discreet collect model URL films --out model/      (after any release)
    """


def check_extra() -> None:
    """Refuse where the collector's own packages are missing."""
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn")):
        raise SettingsInvalid(
            "a collector needs fastapi and uvicorn; install them with: pip install 'discreet[serve]'"
        )
