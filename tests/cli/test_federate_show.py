"""``federate show``: what people compare before a run, and what they look at while it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discreet.cli.federate.show import Teller, position
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.agreement import Agreement
from tests.cli.conftest import Run
from tests.cli.test_federate import Refused, agreed, mask_key, server, server_key, silo, site

__all__ = ["agreed", "site"]


def shown(run: Run, path: Path, *options: object) -> dict[str, Any]:
    content = json.loads(run("federate", "show", path, *options, "--json").stdout)
    assert isinstance(content, dict)
    return content


def test_an_agreement_in_words_with_the_digest_to_compare(run: Run, agreed: Path) -> None:
    agreement = Agreement.load(agreed / "agreement.json")
    text = run("federate", "show", agreed / "agreement.json").stdout
    for words in (
        agreement.digest,
        "epsilon 5, delta 0.0001",
        "3: east, north, south",
        "at least 2 of them add their noise",
        "from 1 to 5",
        *(agreement.signing_keys or {}).values(),
    ):
        assert words in text
    assert shown(run, agreed / "agreement.json")["digest"] == agreement.digest


def test_a_run_in_the_making(run: Run, refused: Refused, site: Path, agreed: Path) -> None:
    question, answer = agreed / "question.bin", agreed / "answer.bin"
    assert run("federate", "export", *server(agreed), *server_key(agreed), "--out", question).exit_code == 0
    for name in ("north", "south", "east"):
        party = (*silo(agreed, site, name), *mask_key(agreed, name), "--question", question)
        assert run("federate", "answer", *party, "--out", answer).exit_code == 0
        status = shown(run, agreed / "run.sqlite")
        assert (status["stage"], status["charged_mu"]) == ("roll call", 0.0)
        assert name in status["waiting_for"]
        assert run("federate", "import", answer, *server(agreed)).exit_code == 0
    assert run("federate", "export", *server(agreed), *server_key(agreed), "--out", question).exit_code == 0
    party = (*silo(agreed, site, "north"), *mask_key(agreed, "north"), "--question", question)
    assert run("federate", "answer", *party, "--out", answer).exit_code == 0
    assert run("federate", "import", answer, *server(agreed)).exit_code == 0

    at_server, at_silo = shown(run, agreed / "run.sqlite"), shown(run, agreed / "north.sqlite")
    assert (at_server["kind"], at_silo["kind"]) == ("server", "silo")
    assert at_server["waiting_for"] == ["east", "south"]
    assert at_server["charged_mu"] == at_silo["charged_mu"] > 0.0
    assert at_server["epsilon_spent"] == at_silo["epsilon_spent"] > 0.0
    assert at_server["round"] == at_silo["round"] == 0, "one number for one round"
    assert at_server["question"] == at_silo["question"], "and the ledger's name for it"
    assert (
        f"round 0 (in the ledger: {at_silo['question']}), 0 rounds done: waiting for east, south"
        == position(at_server)
    )
    text = run("federate", "show", agreed / "run.sqlite").stdout
    assert "late         east, south" in text
    assert f"epsilon {at_server['epsilon_spent']:.4g} of 5" in text
    assert "answered up to round 0" in run("federate", "show", agreed / "north.sqlite").stdout


def test_while_a_process_works_on_the_store_it_says_so(run: Run, refused: Refused, agreed: Path) -> None:
    agreement, store = Agreement.load(agreed / "agreement.json"), agreed / "run.sqlite"
    with Coordinator(store, agreement) as coordinator:
        assert "has not said yet" in refused("federate", "show", store)
        Teller(agreement, str(store)).note(coordinator.status())
        content = shown(run, store)
        assert content["running"]
        assert content["waiting_for"] == ["east", "north", "south"]
        assert "a process is working on it" in run("federate", "show", store).stdout
    assert not shown(run, store)["running"]


def test_wrong_shares_a_server_that_is_gone_and_the_end_are_told_apart(run: Run, agreed: Path) -> None:
    agreement, store = Agreement.load(agreed / "agreement.json"), agreed / "run.sqlite"
    with Coordinator(store, agreement) as coordinator:
        status = coordinator.status()
    teller = Teller(agreement, str(store))
    teller.note(status | {"state": "failed", "reason": "wrong shares: they do not add up"})
    text = run("federate", "show", store).stdout
    assert "failed, 0 rounds done" in text
    assert "why          wrong shares" in text
    assert "late" not in text
    silo = {"silo": "north", "round": None, "finished": False, "refusals": [], **status}
    teller.note(silo | {"trouble": "Connection refused"})
    assert "the server  cannot be reached: Connection refused" in run("federate", "show", store).stdout
    teller.note(silo | {"finished": True, "trouble": None})
    text = run("federate", "show", store).stdout
    assert "the run is over" in text
    assert "cannot be reached" not in text


def test_files_that_are_none(refused: Refused, site: Path, agreed: Path) -> None:
    assert "cannot be read" in refused("federate", "show", agreed / "none.json")
    assert "cannot be used" in refused("federate", "show", site / "items.csv")
