"""Collecting from devices: one file for each command of the group."""

from discreet.cli.collect.group import command

__all__ = ["command"]
