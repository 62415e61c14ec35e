"""``discreet federate export``, ``answer``, ``import`` and ``model``: a run carried by hand, file by file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.federate.options import (
    agreement_option,
    catalogue_option,
    check_member,
    enter_silo,
    existing_store,
    open_silo,
    optional_catalogue_option,
    read_agreed_features,
    read_catalogue,
    read_silo_ratings,
    silo_options,
    store_option,
)
from discreet.cli.federate.output import answered, show_run
from discreet.cli.output import counts, json_option, print_json, printer
from discreet.errors import Refused, SettingsInvalid
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.server_run import ServerRun, open_coordinator
from discreet.silos.shared.agreements import load_agreement
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.seal import SERVER, SigningKey
from discreet.silos.transport.files import check_message_place, read_message, take_answer, write_message
from discreet.silos.transport.identity import SIGNING_KEY, read_signing_key
from discreet.silos.transport.signed_run import SignedRun
from discreet.silos.transport.signed_silo import SignedSilo

__all__ = ["answer_command", "export_command", "import_command", "model_command"]


@click.command("export")
@agreement_option
@optional_catalogue_option
@store_option
@click.option("--signing-key", required=True, metavar="FILE", help="The server's own, of 'key --signing'.")
@click.option("--out", required=True, metavar="FILE", help="Where to put the question.")
@json_option
def export_command(
    agreement: str, catalogue: str | None, store: str, signing_key: str, out: str, as_json: bool
) -> None:
    """Write the server's current question to a file, for every silo the same.

    \b
    Example:
      discreet federate export --agreement agreement.json --store run.sqlite --signing-key signing.key \\
          --out question-1.bin
    """
    agreed = load_agreement(agreement)
    if isinstance(agreed, PrototypeAgreement):
        raise Refused("for prototypes nothing is asked: each silo begins with 'discreet federate answer'")
    check_message_place(Path(out), store=Path(store))
    key = SigningKey(agreed, SERVER, read_signing_key(Path(signing_key)))
    with Coordinator(Path(store), agreed, features=read_agreed_features(catalogue, agreed)) as coordinator:
        question = SignedRun(coordinator, agreed, key).question()
        status = coordinator.status()
    if question is None:
        raise Refused(
            "the run has finished: there is no question left; 'discreet federate model' saves the model"
        )
    write_message(Path(out), question)
    if as_json:
        print_json({"file": out, "bytes": len(question), **status})
    else:
        waiting = ", ".join(status["waiting_for"])
        printer().print(f"Wrote {out} ({len(question):,} bytes); awaited from: {waiting}", markup=False)


@click.command("answer")
@silo_options
@click.option(
    "--mask-key", metavar="FILE", help="This silo's own, of 'discreet federate key'. Not for prototypes."
)
@click.option(
    "--signing-key",
    metavar="FILE",
    help="This silo's own, of 'key --signing'; signing.key beside the mask key if left out.",
)
@click.option("--question", metavar="FILE", help="The question, as exported. For prototypes there is none.")
@click.option("--out", required=True, metavar="FILE", help="Where to put the answer.")
@json_option
@click.pass_context
def answer_command(
    ctx: click.Context,
    /,
    question: str | None,
    signing_key: str | None,
    out: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Answer a question file from this organisation's ratings, which stay here.

    The same checks and the same account as over the network: the same question again gives the same answer and no
    further charge.

    \b
    Example:
      discreet federate answer --agreement agreement.json --name north --ratings north.csv --user user \\
          --item item --rating stars --catalogue items.csv --store north.sqlite --mask-key mask.key \\
          --question question-1.bin --out answer-north-1.bin
    """
    agreement = load_agreement(options["agreement"])
    asks = not isinstance(agreement, PrototypeAgreement)
    for name, given in (("--question", question), ("--mask-key", options["mask_key"])):
        if asks != (given is not None):
            raise SettingsInvalid(
                f"{name} FILE is missing" if asks else f"prototypes need no {name}; leave it out"
            )
    asked = Path(question) if question is not None else None
    check_message_place(Path(out), store=Path(options["store"]), question=asked)
    check_member(agreement, options["name"])
    key = SigningKey(agreement, options["name"], read_signing_key(_signing_key(signing_key, options)))
    body = b"" if asked is None else read_message(asked, agreement)
    catalogue = read_catalogue(options["catalogue"], agreement)
    journal = enter_silo(ctx, agreement, options, catalogue)
    ratings = read_silo_ratings(agreement, catalogue, options)
    with open_silo(agreement, ratings, options, key, journal) as silo:
        answer = SignedSilo(silo, key).answer(body)
        status = silo.status()
    write_message(Path(out), answer)
    if as_json:
        print_json({**status, "file": out, "bytes": len(answer), "holder": counts(ratings)})
    else:
        printer().print(f"Wrote {out} ({len(answer):,} bytes): {answered(status)}.")


def _signing_key(given: str | None, options: dict[str, Any]) -> Path:
    if given is not None:
        return Path(given)
    if options["mask_key"] is None:
        raise SettingsInvalid("--signing-key FILE is missing")
    return Path(options["mask_key"]).with_name(SIGNING_KEY)


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="ANSWER...")
@agreement_option
@optional_catalogue_option
@store_option
@json_option
def import_command(
    files: tuple[str, ...], agreement: str, catalogue: str | None, store: str, as_json: bool
) -> None:
    """Take silos' answer files into the server's store.

    \b
    Example:
      discreet federate import answer-*-1.bin --agreement agreement.json --store run.sqlite
    """
    agreed = load_agreement(agreement)
    messages = [read_message(Path(file), agreed) for file in files]
    # For prototypes nothing was exported: the first answer begins the run.
    begun = Path(store) if isinstance(agreed, PrototypeAgreement) else existing_store(store)
    with open_coordinator(agreed, begun, read_agreed_features(catalogue, agreed)) as coordinator:
        signed = SignedRun(coordinator, agreed, None)
        for file, message in zip(files, messages, strict=True):
            take_answer(signed, message, file)
        status = coordinator.status()
    if status.get("reason") is not None:
        raise Refused(f"the run has failed: {status['reason']}")
    if as_json:
        print_json(status)
        return
    waiting = ", ".join(status["waiting_for"])
    said = (
        "The run has finished: discreet federate model"
        if status["state"] == "finished"
        else f"Awaited from: {waiting}"
    )
    printer().print(said, markup=False)


@click.command("model")
@agreement_option
@catalogue_option
@store_option
@click.option("--out", required=True, metavar="DIR", help="Directory to put the model into.")
@click.option("--force", is_flag=True, help="Replace a model that is already there.")
@json_option
def model_command(agreement: str, catalogue: str, store: str, out: str, force: bool, as_json: bool) -> None:
    """Save the model of a finished run from the server's store.

    \b
    Example:
      discreet federate model --agreement agreement.json --catalogue items.csv --store run.sqlite --out model/
    """
    agreed = load_agreement(agreement)
    run = ServerRun(agreed, read_catalogue(catalogue, agreed), existing_store(store), out, force=force)
    with run.begin() as coordinator:
        if coordinator.question() is not None:
            waiting = ", ".join(coordinator.status()["waiting_for"])
            raise Refused(f"the run has not finished yet; awaited from: {waiting}")
        run.finish(coordinator)
    assert run.result is not None
    assert run.model is not None
    if as_json:
        print_json(run.result)
    else:
        show_run("Trained in silos", run.result, run.model, out)
