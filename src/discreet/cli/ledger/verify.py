"""``discreet ledger verify``: damage, edits, and a ledger that was set back."""

from __future__ import annotations

import re
from pathlib import Path

import click

from discreet.cli.ledger.options import file_argument
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import LedgerInvalid
from discreet.model import Model
from discreet.privacy.account.ledger_file import LedgerFile

__all__ = ["verify_command"]

_HASH = re.compile(r"[0-9a-f]{64}")


@click.command("verify")
@file_argument
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="HASH|FILE|MODEL",
    help="A head kept elsewhere: typed, in a file, or in a model that was trained under the ledger; repeatable.",
)
@json_option
def verify_command(file: str, heads: tuple[str, ...], as_json: bool) -> None:
    """Check every line of FILE against the one before it; exit code 2 if anything was damaged, edited or set back.

    From the file alone nobody can see that its end was cut off. Give a head that was kept elsewhere (shown here and by
    'ledger show'), or any model trained under it: its statement has one.

    \b
    Example:
      discreet ledger verify shop.ledger --head model/
    """
    ledger = LedgerFile(file)
    chain = ledger.verify()
    for head in heads:
        ledger.verify(_read_head(head))
    if as_json:
        # A crash leaves no torn record any more; who reads the field is told so.
        content = {"whole": True, "records": len(chain.records), "torn_bytes": 0, "head": chain.head}
        print_json({**content, "heads_found": len(heads)})
        return
    console = printer()
    console.print(f"{file}: {len(chain.records)} records, none damaged or edited")
    if heads:
        console.print(f"{len(heads)} of {len(heads)} heads found: nothing since them was set back")
    console.print(f"Head: {chain.head}")


def _read_head(given: str) -> str:
    if _HASH.fullmatch(given):
        return given
    path = Path(given)
    if path.is_dir():
        earlier = Model.load(path).statement.earlier
        if earlier is None:
            raise LedgerInvalid(f"{given} is a model that was trained without a ledger; it has no head")
        return earlier.head
    try:
        found = _HASH.search(path.read_text(encoding="ascii"))
    except (OSError, UnicodeDecodeError):
        found = None
    if found is None:
        raise LedgerInvalid(
            f"{given} is neither a head (64 digits of 0-9 and a-f), nor a file or a model with one"
        )
    return found.group()
