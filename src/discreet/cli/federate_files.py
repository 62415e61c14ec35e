"""``discreet federate export``, ``answer``, ``import`` and ``model``: a run carried by hand, file by file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.federate_options import (
    agreement_option,
    catalogue_option,
    existing_store,
    mask_key_option,
    open_silo,
    read_catalogue,
    silo_options,
    store_option,
)
from discreet.cli.federate_output import show_run, summarise_run
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import Refused
from discreet.federated.agreement import Agreement
from discreet.federated.coordinator import Coordinator
from discreet.federated.transport.files import check_message_place, read_message, take_answer, write_message
from discreet.model.storage import check_target

__all__ = ["answer_command", "export_command", "import_command", "model_command"]


@click.command("export")
@agreement_option
@store_option
@click.option("--out", required=True, metavar="FILE", help="Where to put the question.")
@json_option
def export_command(agreement: str, store: str, out: str, as_json: bool) -> None:
    """Write the server's current question to a file, for every silo the same.

    \b
    Example:
      discreet federate export --agreement agreement.json --store run.sqlite --out question-1.bin
    """
    agreed = Agreement.load(agreement)
    check_message_place(Path(out), store=Path(store))
    with Coordinator(Path(store), agreed) as coordinator:
        question = coordinator.question()
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
@mask_key_option
@click.option("--question", required=True, metavar="FILE", help="The question, as exported.")
@click.option("--out", required=True, metavar="FILE", help="Where to put the answer.")
@json_option
def answer_command(question: str, out: str, as_json: bool, **options: Any) -> None:
    """Answer a question file from this organisation's ratings, which stay here.

    The same checks and the same account as over the network: the same question again gives the same answer and no
    further charge.

    \b
    Example:
      discreet federate answer --agreement agreement.json --name north --ratings north.csv --user user \\
          --item item --rating stars --catalogue items.csv --store north.sqlite --mask-key mask.key \\
          --question question-1.bin --out answer-north-1.bin
    """
    agreement = Agreement.load(options["agreement"])
    check_message_place(Path(out), store=Path(options["store"]), question=Path(question))
    asked = read_message(Path(question), agreement)
    with open_silo(agreement, options) as silo:
        answer = silo.answer(asked)
        status = silo.status()
    write_message(Path(out), answer)
    if as_json:
        print_json({"file": out, "bytes": len(answer), **status})
    else:
        spent = f"mu {status['charged_mu']:.4g} of this silo's budget is spent"
        printer().print(f"Wrote {out} ({len(answer):,} bytes); {spent}.", markup=False)


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="ANSWER...")
@agreement_option
@store_option
@json_option
def import_command(files: tuple[str, ...], agreement: str, store: str, as_json: bool) -> None:
    """Take silos' answer files into the server's store.

    \b
    Example:
      discreet federate import answer-*-1.bin --agreement agreement.json --store run.sqlite
    """
    agreed = Agreement.load(agreement)
    messages = [read_message(Path(file), agreed) for file in files]
    with Coordinator(existing_store(store), agreed) as coordinator:
        for file, message in zip(files, messages, strict=True):
            take_answer(coordinator, agreed, message, file)
        status = coordinator.status()
    if status["reason"] is not None:
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
    check_target(out, overwrite=force)
    agreed = Agreement.load(agreement)
    items = read_catalogue(catalogue, agreed)
    with Coordinator(existing_store(store), agreed) as coordinator:
        if coordinator.question() is not None:
            raise Refused("the run has not finished yet; export its question and bring the answers")
        model = coordinator.model(items)
        model.save(out, overwrite=force)
        result = summarise_run(coordinator, model)
    if as_json:
        print_json(result)
    else:
        show_run("Trained in silos", result, model, out)
