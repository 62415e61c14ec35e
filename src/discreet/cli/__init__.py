"""The command ``discreet``: a file for each command, or for a few that belong together."""

from discreet.cli.group import main

__all__ = ["main"]
