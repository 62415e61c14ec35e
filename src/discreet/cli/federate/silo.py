"""``discreet federate silo`` and ``answer``: one organisation's side of a run, over the network or by hand."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet.catalogue import Catalogue
from discreet.cli.federate import command
from discreet.cli.federate.server import check_message_place, read_catalogue, read_message, write_message
from discreet.cli.federate.show import Teller
from discreet.cli.options import Charged, Rows
from discreet.cli.output import Answer, Output, Replaces, counts, printer, say_dropped, show_holder
from discreet.cli.request import option, takes
from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.model.storage import check_target
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.silos.shared.agreement import AnyAgreement, PrototypeAgreement, load_agreement
from discreet.silos.shared.keys import (
    MASK_KEY,
    SIGNING_KEY,
    client_context,
    read_mask_key,
    read_signing_key,
)
from discreet.silos.shared.signing import SERVER, SigningKey, open_seal
from discreet.silos.silo.client import Client, participate
from discreet.silos.silo.party import begin_run
from discreet.silos.silo.prototypes import PrototypeSilo
from discreet.silos.silo.silo import Silo

__all__ = ["check_kind", "open_silo"]


class _AtSilo(Output, Charged, Rows):
    """What a silo needs to answer: its ratings, its name and its store."""

    agreement: str = option("What was agreed.", metavar="FILE")
    name: str = option("This silo's name in the agreement.")
    ratings: str = option("This silo's ratings: a file.", metavar="RATINGS")
    catalogue: str = option("Public list of items (CSV, Parquet, NDJSON or text).", metavar="FILE")
    store: str = option(
        "This silo's account and the answers it gave; keep it, it is what stops a second charge.",
        metavar="FILE",
    )

    def signing(self, agreement: AnyAgreement, path: Path) -> SigningKey:
        """The silo's key; refuses a name that is not in the agreement."""
        if self.name not in agreement.roster:
            silos = ", ".join(agreement.roster)
            raise SettingsInvalid(f"{self.name} is not in the agreement; its silos: {silos}")
        return SigningKey(agreement, self.name, read_signing_key(path))

    def read(self, agreement: AnyAgreement, catalogue: Catalogue) -> tuple[Ratings, LedgerRun | None]:
        """The silo's ratings. Where there is a ledger, the agreed budget is reserved in it before any is read."""
        ledger, run = self.given_ledger(), None
        if ledger is not None:
            begun = begin_run(ledger, agreement, self.name, catalogue.paid)
            run = click.get_current_context().with_resource(begun)
        check_kind(agreement, self.rating)
        reading: Any = {
            **self.reading(),
            "rating_range": agreement.rating_range,
            "catalogue": catalogue,
        }
        return Ratings.from_file(self.ratings, **reading), run


class _TakePart(_AtSilo, Replaces):
    tls: str = option(
        "Folder with authority.pem, signing.key, and mask.key (not for prototypes).", metavar="DIR"
    )
    server: str = option("https://HOST:PORT of the server.", metavar="URL")
    patience: float = option(
        "How long to go on trying a server that does not respond.", 3600.0, ge=0.0, metavar="SECONDS"
    )
    out: str | None = option("Directory to put the finished model into, to recommend here.", metavar="DIR")


class _Answer(_AtSilo):
    mask_key: str | None = option(
        "This silo's own, of 'discreet federate key'. Not for prototypes.", metavar="FILE"
    )
    signing_key: str | None = option(
        "This silo's own, of 'key --signing'; signing.key beside the mask key if left out.", metavar="FILE"
    )
    question: str | None = option("The question, as exported. For prototypes there is none.", metavar="FILE")
    out: str = option("Where to put the answer.", metavar="FILE")


@takes(_TakePart, "silo", inside=command)
def _silo(request: _TakePart) -> Answer:
    """Take part in a run with this organisation's ratings, which stay here.

    Calls the server and is never called. Refuses, with exit code 2 and nothing charged, whatever the agreement does
    not allow. After any stop, start it again with the same --store: what was answered is answered the same. Started
    again after the end, it says so.

    \b
    Example:
      discreet federate silo --agreement agreement.json --name north --ratings north.csv --user user \\
          --item item --rating stars --catalogue items.csv --store north.sqlite --tls tls/silos/north \\
          --server https://server.example:8443
    """
    started = time.perf_counter()
    agreement, tls = load_agreement(request.agreement), Path(request.tls)
    catalogue = read_catalogue(request.catalogue, agreement)
    out = None if request.out is None else Path(request.out)
    if out is not None:
        check_target(out, overwrite=request.force or Path(request.store).exists())
    context = client_context(tls)
    key = request.signing(agreement, tls / SIGNING_KEY)
    ratings, journal = request.read(agreement, catalogue)
    say_dropped(ratings)
    teller = Teller(agreement, request.store)
    with open_silo(request.store, agreement, ratings, key, tls / MASK_KEY, journal) as silo:

        def report() -> None:
            teller.note(silo.status())
            teller.say(_answered(silo.status()))

        def trouble(reason: str) -> None:
            teller.note({**silo.status(), "trouble": reason or None})
            if reason:
                teller.say(f"{reason}; trying again")

        over = silo.finished and (out is None or out.is_dir())
        client = Client(request.server, key, context, patience=request.patience, on_trouble=trouble)
        if over:
            client.take_leave()
        else:
            finish = partial(silo.finish, catalogue=catalogue, out=out, force=request.force)
            participate(silo, key, client, finish, report)
        client.close()
        status, statement = silo.status(), silo.paid()
    teller.note(status)
    if journal is not None:
        journal.end()
    holder = {**counts(ratings), "seconds": round(time.perf_counter() - started, 3)}
    stated = None if statement is None else statement.model_dump(mode="json")

    def show() -> None:
        console = printer()
        if over:
            console.print(
                "This silo's part in the run is over: it has had the model, and nothing was asked of it."
            )
        if statement is None:
            console.print("The run has finished without this silo; nothing was charged to its users.")
        else:
            console.print(f"What {request.name} owes its own users, from its own account:")
            console.print(str(statement))
        if out is not None:
            console.print(f"Model saved to {out}")
        show_holder(holder)

    return Answer({**status, "statement": stated, "holder": holder}, show)


@takes(_Answer, "answer", inside=command)
def _answer(request: _Answer) -> Answer:
    """Answer a question file from this organisation's ratings, which stay here.

    The same checks and the same account as over the network: the same question again gives the same answer and no
    further charge.

    \b
    Example:
      discreet federate answer --agreement agreement.json --name north --ratings north.csv --user user \\
          --item item --rating stars --catalogue items.csv --store north.sqlite --mask-key mask.key \\
          --question question-1.bin --out answer-north-1.bin
    """
    agreement, out = load_agreement(request.agreement), Path(request.out)
    asks = not isinstance(agreement, PrototypeAgreement)
    for name, given in (("--question", request.question), ("--mask-key", request.mask_key)):
        if asks != (given is not None):
            raise SettingsInvalid(
                f"{name} FILE is missing" if asks else f"prototypes need no {name}; leave it out"
            )
    asked = None if request.question is None else Path(request.question)
    check_message_place(out, store=Path(request.store), question=asked)
    mask_key = Path(request.mask_key or "")
    if request.signing_key is None and request.mask_key is None:
        raise SettingsInvalid("--signing-key FILE is missing")
    beside = mask_key.with_name(SIGNING_KEY) if request.mask_key else mask_key
    key = request.signing(agreement, Path(request.signing_key) if request.signing_key else beside)
    body = b""
    if asked is not None:
        body = open_seal(agreement, read_message(asked, agreement), "question", SERVER).body
    catalogue = read_catalogue(request.catalogue, agreement)
    ratings, journal = request.read(agreement, catalogue)
    with open_silo(request.store, agreement, ratings, key, mask_key, journal) as silo:
        answer = key.seal("answer", silo.answer(body))
        status = silo.status()
    write_message(out, answer)
    Teller(agreement, request.store).note(status)
    told = {**status, "file": request.out, "bytes": len(answer), "holder": counts(ratings)}
    return Answer(told, f"Wrote {out} ({len(answer):,} bytes): {_answered(status)}.")


def check_kind(agreement: AnyAgreement, rating: str | None) -> None:
    """Refuse ratings where the agreement has none, and clicks where it has ratings."""
    if agreement.explicit != (rating is not None):
        raise RatingsInvalid(
            "the agreement is about ratings: name their column with --rating"
            if agreement.explicit
            else "the agreement is about implicit feedback; leave --rating out"
        )


def open_silo(
    store: str | Path,
    agreement: AnyAgreement,
    ratings: Ratings,
    signing: SigningKey,
    mask_key: Path,
    journal: LedgerRun | None = None,
) -> Silo | PrototypeSilo:
    """The silo whose key signs; for sums with its mask key."""
    if isinstance(agreement, PrototypeAgreement):
        return PrototypeSilo(Path(store), agreement, signing.name, ratings, journal=journal)
    key = read_mask_key(mask_key)
    return Silo(Path(store), agreement, signing.name, key, ratings, journal=journal, signing=signing)


def _answered(status: dict[str, Any]) -> str:
    """What to say after an answer has arrived, from the silo's status."""
    spent = f"epsilon {status['epsilon_spent']:.4g} spent"
    if "rounds" not in status:
        return f"the one message is sent ({status['bytes']:,} bytes); {spent}"
    if status["round"] is None:
        return f"the roll call is signed, nothing is answered yet; {spent}"
    return f"round {status['round']} (in the ledger: {status['question']}) answered; {spent}"
