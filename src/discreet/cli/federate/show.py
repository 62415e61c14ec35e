"""``discreet federate show``: an agreement in words with the digest to compare, or where a run stands.

What silo and server say of a run while it goes on, on stderr and in a file beside their store, is made here too.
"""

from __future__ import annotations

import datetime
import json
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet.cli.federate import command
from discreet.cli.output import Answer, Output, printer
from discreet.cli.request import argument, takes
from discreet.errors import SettingsInvalid
from discreet.model.directory import replace_file
from discreet.silos.shared.agreement import Agreement, AnyAgreement, load_agreement
from discreet.silos.shared.store import StoreInUse, is_store, read_rows

__all__ = ["Teller", "position"]


class Teller:
    """Says where a party of a run is: in a file beside its store, which only the party can open, and on stderr."""

    def __init__(self, agreement: AnyAgreement, store: str, *, as_json: bool = False) -> None:
        self._head = {"digest": agreement.digest, "name": agreement.name}
        self._path, self._as_json, self._last = _beside(Path(store)), as_json, ""
        self._noted: dict[str, Any] | None = None

    def note(self, status: dict[str, Any]) -> None:
        """Replace what was said before in the file, if anything has changed."""
        if status == self._noted:
            return
        self._noted = dict(status)
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        kind = {"kind": "silo" if "silo" in status else "server"}
        content = json.dumps(kind | self._head | {"as_of": now} | status).encode()
        replace_file(self._path, lambda file: file.write(content), private=True)

    def say(self, words: str, **facts: Any) -> None:
        """One line, unless it was the last one."""
        if words != self._last:
            click.echo(json.dumps({"words": words, **facts}) if self._as_json else words, err=True)
        self._last = words


def _said_beside(store: Path) -> dict[str, Any]:
    """What a party said last, and whether a process is working on its store now."""
    try:
        content = json.loads(_beside(store).read_text(encoding="utf-8"))
        assert {"kind", "digest", "name", "as_of"} <= set(content)
    except (OSError, ValueError, RecursionError, AssertionError, TypeError):
        raise SettingsInvalid(
            f"{store} is a store whose owner has not said yet where it is; look again later"
        ) from None
    try:
        read_rows(store, "SELECT 1 FROM owner")
    except StoreInUse:
        return {**content, "running": True}
    return {**content, "running": False}


def position(status: dict[str, Any]) -> str:
    """Where the run is, with the numbers of the JSON status and the names of the ledger."""
    of = f" of {status['rounds']}" if status["rounds"] else ""
    done = f"{status['round']}{of} rounds done"
    if status["state"] != "running":
        return f"{status['state']}, {done}"
    waiting = ", ".join(status["waiting_for"]) or "nobody"
    step = " to sign who is in the sum" if status.get("stage") == "roll call" else ""
    return (
        f"round {status['round']} (in the ledger: {status['question']}), {done}: waiting for {waiting}{step}"
    )


def _beside(store: Path) -> Path:
    return store.with_name(f"{store.name}.status.json")


class _Show(Output):
    file: str = argument("FILE")


@takes(_Show, "show", inside=command)
def _show(request: _Show) -> Answer:
    """Print an agreement in words, with its digest; or of a store of silo or server, where the run stands.

    Everybody who signs an agreement compares the digest by another way than the one the file came. For a store: what
    was answered and paid, who is late, whether shares were wrong, and whether the server can be reached. Silo and
    server say it in a file beside their store.

    \b
    Example:
      discreet federate show agreement.json
      discreet federate show run.sqlite
    """
    path = Path(request.file)
    if is_store(path):
        status = _said_beside(path)
        return Answer(status, partial(_print, _stand(status)))
    agreed = load_agreement(path)
    content = {"kind": "agreement", "digest": agreed.digest, **agreed.model_dump(mode="json")}
    return Answer(content, partial(_print, _terms(agreed)))


def _terms(agreed: AnyAgreement) -> list[tuple[str, str]]:
    features = ", ".join(f"{name} ({kind})" for name, kind in (agreed.features or {}).items())
    clicks = agreed.rating_range is None
    rows = [
        ("agreement", agreed.name),
        ("digest", agreed.digest),
        ("", "compare it with the others by telephone or in person, not by the way this file came"),
        ("method", agreed.method),
        (
            "promise",
            f"epsilon {agreed.epsilon:g}, delta {agreed.delta:g}, for all of a user's ratings in one silo",
        ),
        ("ratings", "clicks" if clicks else "from {:g} to {:g}".format(*agreed.rating_range or ())),
        ("items", f"{agreed.n_items:,}, catalogue {agreed.catalogue[:16]}..."),
        ("item features", features or "none"),
        ("silos", f"{len(agreed.roster)}: {', '.join(agreed.roster)}"),
        *(_of_sums(agreed) if isinstance(agreed, Agreement) else _OF_PROTOTYPES),
    ]
    changed = agreed.settings.model_dump(mode="json", exclude_defaults=True)
    rows.append(("settings", ", ".join(f"{key}={value}" for key, value in changed.items()) or "defaults"))
    if agreed.signing_keys is None or agreed.server_key is None:
        return [*rows, ("signing keys", "none: refused by whoever sends messages")]
    keys = {"the server": agreed.server_key, **agreed.signing_keys}
    return rows + [(f"signing key of {name}", key) for name, key in keys.items()]


_OF_PROTOTYPES = [
    ("noise", "each silo adds all that its users need"),
    ("going on without", "costs nobody anything"),
]


def _of_sums(agreed: Agreement) -> list[tuple[str, str]]:
    honest = f"holds if at least {agreed.honest} of them add their noise and keep it and their keys secret"
    trusted = "the server, which sees exact totals of all silos together and is trusted to add it"
    shares = f"each silo adds a share; the promise {honest}"
    return [
        ("noise", trusted if agreed.noise == "server" else shares),
        (
            "going on without",
            f"down to {agreed.smallest_roster} silos: free in a roll call, later the others pay a round again",
        ),
        ("held back", f"{agreed.spare:.0%} of the budget, for repeats"),
    ]


def _stand(status: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("run", f"{status['name']} ({status['run']})"), ("agreement", status["digest"])]
    rows += _of_silo(status) if status["kind"] == "silo" else _of_server(status)
    at_work = "a process is working on it" if status["running"] else "no process is working on it"
    return [*rows, ("as of", f"{status['as_of']}; {at_work}")]


def _of_server(status: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("server", position(status)), ("silos in it", ", ".join(status["roster"]))]
    if status.get("reason"):
        rows.append(("why", status["reason"]))
    if status["state"] == "running":
        rows.append(("late", ", ".join(status["waiting_for"]) or "nobody"))
    rows.append(("paid", f"{_paid(status)}, by the users of any silo, the round under way included"))
    return rows


def _of_silo(status: dict[str, Any]) -> list[tuple[str, str]]:
    if "messages" in status:
        answered = f"one message of {status['bytes']:,} bytes" if status["messages"] else "nothing sent yet"
    elif status["round"] is None:
        answered = "nothing answered yet"
    else:
        answered = f"answered up to round {status['round']} (in the ledger: {status['question']})"
    if status["finished"]:
        answered += "; the run is over, and it has had the model"
    rows = [("silo", f"{status['silo']}, {answered}"), ("paid", _paid(status))]
    if status.get("trouble"):
        rows.append(("the server", f"cannot be reached: {status['trouble']}"))
    return rows + [("refused", reason) for reason in status.get("refusals", ())]


def _paid(status: dict[str, Any]) -> str:
    return f"epsilon {status['epsilon_spent']:.4g} of {status['epsilon']:g} (delta {status['delta']:g})"


def _print(rows: list[tuple[str, str]]) -> None:
    console, width = printer(), max(len(key) for key, _ in rows)
    for key, value in rows:
        console.print(f"{key:<{width}}  {value}", soft_wrap=True)
