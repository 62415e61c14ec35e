"""Training together with other organisations: one file for each command of the group."""

from discreet.cli.federate.group import command

__all__ = ["command"]
