"""Options that every command to a running collector takes, and what it prints."""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.output import json_option, print_json

__all__ = ["admin_options", "connect", "say"]


def admin_options(function: Any) -> Any:
    """URL, token, certificates and ``--json``."""
    for option in (
        json_option,
        click.option("--authorities", help="File with the certificates to trust, if not the system's."),
        click.option("--token-file", help="File with the collector's token."),
        click.argument("url"),
    ):
        function = option(function)
    return function


def connect(url: str, token_file: str | None, authorities: str | None) -> Any:
    """Whoever may command the collector at ``url``."""
    from discreet.devices.collector.admin import Admin
    from discreet.devices.collector.settings import read_token

    return Admin(url, read_token(token_file), authorities)


def say(content: dict[str, Any], as_json: bool) -> None:
    """Print an answer, as JSON or line by line."""
    if as_json:
        print_json(content)
    else:
        for name, value in content.items():
            click.echo(f"{name}: {value}")
