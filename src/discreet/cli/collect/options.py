"""Options that commands of one kind share, and what they print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import BaseModel, ValidationError

from discreet.cli.output import json_option, print_json
from discreet.errors import SettingsInvalid

__all__ = ["admin_options", "checked", "connect", "say", "service_options", "when_ready"]

S = TypeVar("S", bound=BaseModel)


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


def service_options(port: int) -> Callable[[Any], Any]:
    """Where a service listens and what it allows."""

    def add(function: Any) -> Any:
        file = click.Path(path_type=Path)
        for option in (
            click.option(
                "--tick",
                default=10.0,
                show_default=True,
                help="Seconds between two looks at what is to be done without being asked.",
            ),
            click.option("--quiet", is_flag=True, help="No log of JSON lines on standard error."),
            click.option(
                "--allow-origin",
                multiple=True,
                metavar="ORIGIN",
                help="Origin of web pages that may be devices, such as https://shop.example; repeatable.",
            ),
            click.option("--device-token-file", help="File with a token that devices need."),
            click.option("--token-file", help="File with the token that whoever runs it needs."),
            click.option("--behind-proxy", is_flag=True, help="Something in front of it ends TLS."),
            click.option(
                "--port",
                default=port,
                show_default=True,
                type=click.IntRange(0, 65535),
                help="0 takes a free one.",
            ),
            click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
            click.option("--store", required=True, type=file, help="File that holds everything."),
        ):
            function = option(function)
        return function

    return add


def checked(settings: type[S], **given: Any) -> S:
    """Settings of a service; a mistake is named."""
    try:
        return settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsInvalid(f"{first['loc'][0]}: {first['msg']}") from None


def when_ready(doing: str, as_json: bool) -> Callable[[str], None]:
    """Say where a service listens, once it does."""

    def ready(address: str) -> None:
        if as_json:
            print_json({"address": address})
        else:
            click.echo(f"{doing} at {address}; Ctrl-C ends it.")

    return ready
