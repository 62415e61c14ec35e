"""``discreet federate show``: an agreement in words with the digest to compare, or where a run stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.cli.federate.output import position, said_beside
from discreet.cli.output import Output, print_json, printer
from discreet.cli.request import argument, takes
from discreet.silos.shared.agreement import Agreement, AnyAgreement, load_agreement
from discreet.silos.shared.store import is_store

__all__ = ["show_command"]


class _Show(Output):
    """What `show` can be asked."""

    file: str = argument("FILE")


@takes(_Show, "show")
def show_command(request: _Show) -> None:
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
        status = said_beside(path)
        if request.as_json:
            print_json(status)
        else:
            _print(_stand(status))
        return
    agreed = load_agreement(path)
    if request.as_json:
        print_json({"kind": "agreement", "digest": agreed.digest, **agreed.model_dump(mode="json")})
    else:
        _print(_terms(agreed))


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
