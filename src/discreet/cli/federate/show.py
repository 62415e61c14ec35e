"""``discreet federate show``: an agreement in words with the digest to compare, or where a run stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.federate.options import optional_catalogue_option, read_agreed_features
from discreet.cli.federate.output import position
from discreet.cli.federate.status_file import StatusFile
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import SettingsInvalid
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import AnyAgreement, load_agreement, parse_agreement
from discreet.silos.shared.store import StoreInUse
from discreet.silos.store_status import StoredRun, is_store

__all__ = ["show_command"]


@click.command("show")
@click.argument("file", metavar="FILE")
@optional_catalogue_option
@json_option
def show_command(file: str, catalogue: str | None, as_json: bool) -> None:
    """Print an agreement in words, with its digest; or of a store of silo or server, where the run stands.

    Everybody who signs an agreement compares the digest by another way than the one the file came. For a store: what
    was answered and paid, and who is late. A party that is running says it in a file beside its store.

    \b
    Example:
      discreet federate show agreement.json
      discreet federate show run.sqlite
    """
    path = Path(file)
    if not is_store(path):
        agreed = load_agreement(path)
        if as_json:
            print_json({"kind": "agreement", "digest": agreed.digest, **agreed.model_dump(mode="json")})
        else:
            _print(_terms(agreed))
        return
    agreed, status, at = _status(path, catalogue)
    role = "silo" if "silo" in status else "server"
    if as_json:
        print_json({"kind": role, "digest": agreed.digest, "name": agreed.name, "as_of": at, **status})
        return
    rows = _of_silo(status) if role == "silo" else _of_server(status)
    head = [("run", f"{agreed.name} ({agreed.run_id})"), ("agreement", agreed.digest)]
    _print([*head, *rows, *([] if at is None else [("as of", f"{at}, from the process that is running")])])


def _status(path: Path, catalogue: str | None) -> tuple[AnyAgreement, dict[str, Any], str | None]:
    """Agreement, status, and when it was written if a running process did."""
    try:
        run = StoredRun.find(path)
        features = read_agreed_features(catalogue, run.agreement) if run.silo is None else None
        return run.agreement, run.status(features), None
    except StoreInUse as in_use:
        said = StatusFile(path).read()
        if said is None:
            raise SettingsInvalid(f"{in_use}, which has not said yet where it is; look again later") from None
        return parse_agreement(said["agreement"].encode()), said["status"], said["at"]


def _terms(agreed: AnyAgreement) -> list[tuple[str, str]]:
    features = ", ".join(f"{name} ({kind})" for name, kind in (agreed.features or {}).items())
    rows = [
        ("agreement", agreed.name),
        ("digest", agreed.digest),
        ("", "compare it with the others by telephone or in person, not by the way this file came"),
        ("method", agreed.method),
        (
            "promise",
            f"epsilon {agreed.epsilon:g}, delta {agreed.delta:g}, for all of a user's ratings in one silo",
        ),
        (
            "ratings",
            "clicks" if agreed.rating_range is None else "from {:g} to {:g}".format(*agreed.rating_range),
        ),
        ("items", f"{agreed.n_items:,}, catalogue {agreed.catalogue[:16]}..."),
        ("item features", features or "none"),
        ("silos", f"{len(agreed.roster)}: {', '.join(agreed.roster)}"),
    ]
    if isinstance(agreed, Agreement):
        honest = (
            f"holds if at least {agreed.honest} of them add their noise and keep it and their keys secret"
        )
        trusted = "the server, which sees exact totals of all silos together and is trusted to add it"
        shares = f"each silo adds a share; the promise {honest}"
        rows += [
            ("noise", trusted if agreed.noise == "server" else shares),
            (
                "going on without",
                f"down to {agreed.smallest_roster} silos: free in a roll call, later the others pay a round again",
            ),
            ("held back", f"{agreed.spare:.0%} of the budget, for repeats"),
        ]
    else:
        rows += [
            ("noise", "each silo adds all that its users need"),
            ("going on without", "costs nobody anything"),
        ]
    changed = agreed.settings.model_dump(mode="json", exclude_defaults=True)
    rows += [("settings", ", ".join(f"{key}={value}" for key, value in changed.items()) or "defaults")]
    if agreed.signing_keys is None or agreed.server_key is None:
        return [
            *rows,
            ("signing keys", "none: refused by whoever sends messages"),
        ]
    keys = {"the server": agreed.server_key, **agreed.signing_keys}
    return rows + [(f"signing key of {name}", key) for name, key in keys.items()]


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
    rows = [("silo", f"{status['silo']}, {answered}"), ("paid", _paid(status))]
    return rows + [("refused", reason) for reason in status.get("refusals", ())]


def _paid(status: dict[str, Any]) -> str:
    return f"epsilon {status['epsilon_spent']:.4g} of {status['epsilon']:g} (delta {status['delta']:g})"


def _print(rows: list[tuple[str, str]]) -> None:
    console, width = printer(), max(len(key) for key, _ in rows)
    for key, value in rows:
        console.print(f"{key:<{width}}  {value}", soft_wrap=True)
