"""The ledger of a data set: one file for each command of the group."""

from discreet.cli.ledger.group import command

__all__ = ["command"]
