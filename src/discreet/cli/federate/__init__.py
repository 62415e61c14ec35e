"""``discreet federate``: several organisations train one model without pooling their ratings."""

from __future__ import annotations

import importlib

import click

from discreet.cli.group import needs
from discreet.cli.request import group

__all__ = ["COMMANDS", "command"]

# Each command and the module it is in.
COMMANDS = {
    "plan": "plan",
    "simulate": "simulate",
    "authority": "agree",
    "key": "agree",
    "agree": "agree",
    "show": "show",
    "server": "server",
    "drop": "server",
    "finish": "server",
    "silo": "silo",
    "export": "server",
    "answer": "silo",
    "import": "server",
    "model": "server",
}


class _Federate(click.Group):
    """Loads a command's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order they are worth reading."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or ``None``."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name != "plan":
            needs("training in silos", "silos", "cryptography", "httpx", "starlette", "uvicorn")
        importlib.import_module(f"discreet.cli.federate.{COMMANDS[cmd_name]}")
        return self.commands[cmd_name]


@group("federate", cls=_Federate)
def command() -> None:
    """Every organisation (silo) keeps its ratings, adds its own noise and keeps its own account of what it has given
    away; a server sees sums only, or private prototypes. Silos call the server, never the other way round.

    Is it worth it? federate plan answers before anybody has paid, on made-up ratings.

    \b
    Example, all on one machine:
      discreet federate simulate ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --silos 3 --honest 2 --epsilon 1 --delta 1e-6 --out model/
    \b
    In earnest:
      discreet federate key mask.key                   (each silo; hand round the public half)
      discreet federate key --signing signing.key      (each silo and the server; likewise)
      discreet federate agree ... --out agreement.json (once; every silo reads and keeps it)
      discreet federate show agreement.json            (each silo; compare the digest)
      discreet federate server ...                     (one machine)
      discreet federate silo ...                       (each silo, outbound connections only)
    \b
    Without rounds: agree with --method prototypes, and each silo sends one private message and gets one back.
    Without a network: export, answer and import carry the same messages as files. Every command takes --json.
    """
