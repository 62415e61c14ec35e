"""The command ``discreet``: one file for each command."""

from discreet.cli.group import main

__all__ = ["main"]
