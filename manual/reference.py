"""Reference pages, read off the package itself: commands, Python names, settings, errors, terms."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

import discreet
from discreet import errors
from discreet.cli import main
from discreet.cli.group import COMMANDS
from discreet.methods.registry import METHODS
from discreet.statements.words import GLOSSARY

__all__ = ["reference_pages"]


def reference_pages() -> dict[str, str]:
    """Places in the manual and texts."""
    return {
        "reference/api.md": _api(),
        **{f"reference/commands/{name}.md": _command(name) for name in COMMANDS},
        "reference/settings.md": _settings(),
        "reference/errors.md": _errors(),
        "reference/glossary.md": _glossary(),
    }


def _command(name: str) -> str:
    context = click.Context(main, info_name="discreet")
    command = main.get_command(context, name)
    assert command is not None
    parts = [f"# discreet {name}", COMMANDS[name]]
    for path, one in _all_commands(name, command):
        if path != name:
            parts.append(f"## discreet {path}")
        child = click.Context(one, info_name=f"discreet {path}", max_content_width=100, terminal_width=100)
        parts.append(f"```text\n{one.get_help(child)}\n```")
    return "\n\n".join(parts) + "\n"


def _all_commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _all_commands(f"{path} {name}", inner)


def _api() -> str:
    homes = {name: home for name, home in discreet._HOMES.items() if home != "discreet.errors"}
    parts = [
        "# Python interface",
        "Names of the package `discreet` itself. What lies deeper may change between versions.",
    ]
    for name in sorted(homes, key=str.lower):
        value = getattr(discreet, name)
        parts.append(f"## {name}\n\n::: {value.__module__}.{value.__qualname__}")
    parts.append("## silos.fit\n\n::: discreet.silos.in_process.fit")
    fit = discreet.devices.fit
    parts.append(f"## devices.fit\n\n::: {fit.__module__}.{fit.__qualname__}")
    return "\n\n".join(parts) + "\n"


def _settings() -> str:
    parts = [
        "# Settings of the methods",
        "Keyword parameters in Python, `--set NAME=VALUE` on the command line (`--rank` and `--rounds` have "
        "options of their own). A method's symbols in its paper stand in [notation](../notation.md).",
    ]
    for name, method in METHODS.items():
        settings = method.settings_type
        defaults = ", ".join(f"`{key}={value!r}`" for key, value in settings.defaults().items())
        parts.append(f"## {name}\n\n`discreet.{method.__name__}`, with the defaults {defaults}.")
        # Names stand at the margin and their words below, indented.
        for entry in re.split(r"\n(?=\S)", settings.in_words()):
            names, _, words = entry.partition("\n")
            parts.append(f"- `{names.replace(', ', '`, `')}`: {' '.join(words.split()).replace('``', '`')}")
    return "\n\n".join(parts) + "\n"


def _errors() -> str:
    rows = "\n".join(
        f"| `{name}` | `{getattr(errors, name).__base__.__name__}` | {inspect.getdoc(getattr(errors, name))} |"
        for name in errors.__all__
    )
    return (
        "# Errors\n\nEvery error raised on purpose is a `discreet.DiscreetError`. On the command line its message "
        "goes to stderr, with exit code 2 and no traceback; Ctrl-C ends with 130. Commands write their results whole "
        "or not at all.\n\n"
        f"| error | is a | when |\n|---|---|---|\n{rows}\n"
    )


def _glossary() -> str:
    return "# Glossary\n\n" + "\n\n".join(f"**{term}.** {words}" for term, words in GLOSSARY.items()) + "\n"
