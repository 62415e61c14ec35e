"""The list of commands, and what every one of them does with an error.

A person's mistake ends with exit code 2 and a message on stderr, never a traceback. Ctrl-C ends with 130.
Commands write their results whole or not at all, so neither leaves anything behind.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import importlib.util
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

import discreet
from discreet.errors import DiscreetError, SettingsInvalid

__all__ = ["COMMANDS", "INTERRUPTED", "check_interrupt", "errors_as_messages", "listening", "main", "needs"]

# What --help says about each command first, and `discreet --help` without loading any of them.
COMMANDS = {
    "demo": "Train with and without privacy on an embedded market, and recommend for a newcomer.",
    "sample": "Write a made-up market as files: ratings.csv, items.csv, test.csv and my-history.csv.",
    "split": "Split RATINGS into train.csv and test.csv, with all columns as they are.",
    "train": "Train a model on RATINGS (CSV, Parquet or NDJSON) and save it.",
    "evaluate": "Compare the lists and predictions of MODEL with TEST, from each user's own rows in TRAIN.",
    "recommend": "Recommend items from a history, for anyone, whether they were in the training data or not.",
    "similar": "Show the items that are most like an item.",
    "explain": "Say why an item has its score for a person: what the item itself and each rating add to it.",
    "statement": "Say what a MODEL promises, what that means, and what it cost; make a page of it, or sign it.",
    "report": "Write one page about a MODEL: promise, costs, what it knows of which items, neighbours.",
    "add-items": "Add items to a MODEL that it was not trained on, from their features, and save it.",
    "serve": "Serve a MODEL over HTTP, with a page that recommends in the browser.",
    "export": "Write a MODEL in forms that others read: a page, a table, a card.",
    "plan": "Say what quality to expect at which epsilon, from a few numbers, before any budget is spent.",
    "budget": "Show the mu that a budget buys, and the noise each release needs.",
    "ledger": "Show what all runs on the same people's ratings have cost, and what is left.",
    "audit": "Try to refute that METHOD is (epsilon, delta)-private, and say how close it came.",
    "federate": "Train one model in several organisations without pooling their ratings.",
    "collect": "Collect one noisy bit per device and round; there is nothing in it to trust.",
    "doctor": "Show versions, threads and libraries, and test noise, kernels and storage on this machine.",
}
# Commands that share a file with another, and which.
_TOGETHER = {
    **dict.fromkeys(("demo", "sample"), "demo"),
    **dict.fromkeys(("evaluate", "split"), "evaluate"),
    **dict.fromkeys(("recommend", "similar", "explain"), "recommend"),
    **dict.fromkeys(("statement", "report"), "statement"),
    **dict.fromkeys(("export", "serve", "add_items"), "export"),
    **dict.fromkeys(("plan", "budget"), "plan"),
}
INTERRUPTED = 130  # what shells report for a process that Ctrl-C ended


class _Refusal(click.ClickException):
    """A mistake in what was handed in."""

    exit_code = 2


@contextmanager
def errors_as_messages(ctx: click.Context) -> Iterator[None]:
    """End the command as the module's description says if what is inside fails."""
    try:
        with listening():
            yield
    except DiscreetError as error:
        raise _Refusal(str(error)) from error
    except KeyboardInterrupt:
        click.echo(
            "Interrupted; no model was written. What a ledger or a store has charged stays charged.", err=True
        )
        ctx.exit(INTERRUPTED)
    except MemoryError as error:
        raise _Refusal("There is no memory on this machine for what these files ask for.") from error
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader of our output has gone; click ends quietly
            raise
        raise _Refusal(_describe(error)) from error


class _Commands(click.Group):
    """Loads a command's module when it is asked for, and turns errors into messages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order they are worth reading."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Names and short descriptions."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or ``None``."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = importlib.import_module(f"discreet.cli.{_TOGETHER.get(name, name)}")
        command: click.Command = getattr(module, name if name in _TOGETHER else "command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is asked for; where there is none of that name, the one that was probably meant is named."""
        near = difflib.get_close_matches(args[0], COMMANDS, n=1)
        if args[0] not in COMMANDS and near:
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{near[0]}'?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; see the module's description for errors."""
        with errors_as_messages(ctx):
            return super().invoke(ctx)


def needs(what: str, extra: str, *packages: str) -> None:
    """Refuse where packages of an extra are missing."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingsInvalid(
            f"{what} needs {', '.join(missing)}; install it with: pip install 'discreet[{extra}]'"
        )


def _describe(error: OSError) -> str:
    reason = error.strerror or str(error)
    where = f": {error.filename}" if error.filename else ""
    advice = (
        " Make room and run it again; nothing was written."
        if error.errno in (errno.ENOSPC, errno.EFBIG)
        else ""
    )
    return f"{reason}{where}.{advice}"


_asked = threading.Event()


@contextmanager
def listening() -> Iterator[None]:
    """Keep in mind that Ctrl-C was typed, where nobody else listens for it.

    Python raises KeyboardInterrupt wherever a program happens to be. In a callback of compiled code there is nobody who
    could pass it on: it is dropped. So it is noted, and looked at whenever there is progress to report.
    """
    alone = threading.current_thread() is threading.main_thread()
    if not alone or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _asked.clear()
    signal.signal(signal.SIGINT, _on_signal)
    shown, sys.unraisablehook = sys.unraisablehook, _quietly(sys.unraisablehook)
    try:
        yield
    finally:
        sys.unraisablehook = shown
        if signal.getsignal(signal.SIGINT) is _on_signal:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _asked.clear()


def check_interrupt() -> None:
    """Raise what was dropped, if it was."""
    if _asked.is_set():
        raise KeyboardInterrupt


def _quietly(show: Callable[[sys.UnraisableHookArgs], object]) -> Callable[[sys.UnraisableHookArgs], None]:
    """Say nothing of a Ctrl-C that was dropped."""

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            show(dropped)

    return hook


def _on_signal(number: int, frame: FrameType | None) -> None:
    _asked.set()
    raise KeyboardInterrupt


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(discreet.__version__)
def main() -> None:
    """Recommendations that keep a secret.

    Train on what people did, release a model that provably does not reveal any one of them, and recommend
    for anyone from it.

    \b
    Start with:  discreet demo
    """
