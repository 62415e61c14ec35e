"""``discreet ledger``: what all runs on the same data have cost, and what is left."""

from __future__ import annotations

import importlib

import click

__all__ = ["COMMANDS", "Ledger", "command"]

# In the order they are worth reading; each is in the module of its name.
COMMANDS = ("show", "plan", "cap", "verify")


class Ledger(click.Group):
    """Loads a command's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order they are worth reading."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or ``None``."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"discreet.cli.ledger.{cmd_name}")
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found


@click.command("ledger", cls=Ledger)
def command() -> None:
    """Show what all runs on the same people's ratings have cost, and what is left.

    A ledger is one file for one data set. Runs enter themselves with --ledger FILE (train, federate silo): the
    whole budget is reserved before ratings are read, and every charge is on the disk before its noise is drawn. With
    DISCREET_LEDGER=FILE in the environment the file need not be named again.

    \b
    Example:
      discreet ledger cap shop.ledger --epsilon 4 --delta 1e-6
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --epsilon 1 --delta 1e-6 --ledger shop.ledger --out model/
      discreet ledger show shop.ledger
      discreet ledger plan shop.ledger --runs 12 --epsilon 1 --delta 1e-6
      discreet ledger verify shop.ledger --head model/
    """
