"""``discreet federate`` with private prototypes: the agreement, a whole run, and going on without silos."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.methods.prototypes.saved import load_factors
from discreet.silos.server.prototype_coordinator import PrototypeCoordinator
from discreet.silos.shared.methods import load_agreement
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from tests.cli.conftest import Run

Refused = Callable[..., str]

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars")
TERMS = ("--method", "prototypes", "--prototypes", 3, "--epsilon", 30, "--rating-range", 1, 5, "--rank", 2)
SILOS = ("--silo", "east", "--silo", "north", "--silo", "south")


def agree(shop: Path, folder: Path, *changes: object) -> tuple[object, ...]:
    common = ("--name", "trial", *SILOS, *TERMS, "--catalogue", shop / "items.csv")
    return ("federate", "agree", *common, "--out", folder / "agreement.json", *changes)


def test_simulate(run: Run, refused: Refused, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "factors"
    options = (*COLUMNS, *TERMS, "--silos", 2, "--catalogue", shop / "items.csv", "--out", out)
    result = run("federate", "simulate", shop / "train.csv", *options, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["silos"] == ["silo-1", "silo-2"]
    assert (content["messages_up"], content["messages_down"]) == (2, 2)
    assert content["bytes_down"] == 2 * (out / "factors.bin").stat().st_size
    assert content["bytes_up"] > 0
    assert (content["private"], content["epsilon"], content["delta"]) == (True, 30.0, 0.0)
    for account in content["accounts"].values():
        assert account == {"epsilon_spent": 30.0, "messages": 1}
    statements = json.loads((out / "statement.json").read_text())
    assert statements["epsilon_in_two"] == 60.0
    assert sorted(statements["silos"]) == ["silo-1", "silo-2"]
    factors = load_factors(out)
    assert factors.factors.shape == (40, 2)
    assert factors.rating_range == (1.0, 5.0)
    assert "already has factors" in refused("federate", "simulate", shop / "train.csv", *options)


def test_the_agreement(run: Run, shop: Path, tmp_path: Path) -> None:
    lloyd = ("--set", "clustering=lloyd", "--set", "factors.penalty=0.3", "--delta", "1e-5", "--seed", 4)
    content = json.loads(run(*agree(shop, tmp_path, *lloyd, "--json")).stdout)
    agreed = load_agreement(tmp_path / "agreement.json")
    assert isinstance(agreed, PrototypeAgreement)
    assert content["digest"] == agreed.digest
    assert agreed.roster == ("east", "north", "south")
    assert (agreed.settings.prototypes, agreed.settings.clustering, agreed.delta) == (3, "lloyd", 1e-5)
    assert (agreed.factors.rank, agreed.factors.penalty, agreed.seed) == (2, 0.3, 4)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("--delta", "1e-5"), "no --delta"),
        (("--honest", 2), "--honest is for budgeted"),
        (("--noise", "server"), "--noise is for budgeted"),
        (("--rounds", 2), "--rounds is for budgeted"),
        (("--set", "prototypes=4"), "use --prototypes"),
        (("--set", "factors.rank=4"), "use --rank"),
        (("--set", "flavour=3"), "Known settings"),
        (("--set", "factors.flavour=3"), "Known settings"),
        (("--epsilon", "much"), "must be a number"),
        (("--epsilon", "-1"), "above zero"),
        (("--rating-range", -1, 1), "non-negative"),
        (("--silo", "north"), "each name once"),
        (("--method", "budgeted"), "NAME=KEY"),
    ],
)
def test_agreements_that_cannot_be(
    refused: Refused, shop: Path, tmp_path: Path, changes: tuple[object, ...], words: str
) -> None:
    assert words in refused(*agree(shop, tmp_path, *changes))
    assert not (tmp_path / "agreement.json").exists()


def test_going_on_without_several_silos_at_once(
    run: Run, refused: Refused, shop: Path, tmp_path: Path
) -> None:
    assert run(*agree(shop, tmp_path)).exit_code == 0
    server = ("--agreement", tmp_path / "agreement.json", "--store", tmp_path / "run.sqlite")
    drop = ("federate", "drop", *server, "--silo", "north")
    assert "there is no store" in refused(*drop)
    agreed = load_agreement(tmp_path / "agreement.json")
    assert isinstance(agreed, PrototypeAgreement)
    PrototypeCoordinator(tmp_path / "run.sqlite", agreed).close()
    assert "nobody would be left" in refused(*drop, "--silo", "south", "--silo", "east")
    content = json.loads(run(*drop, "--silo", "south", "--json").stdout)
    assert (content["roster"], content["waiting_for"]) == (["east"], ["east"])
    assert "not awaited" in refused(*drop)


def test_commands_that_budgeted_als_has_alone(run: Run, refused: Refused, shop: Path, tmp_path: Path) -> None:
    assert run(*agree(shop, tmp_path)).exit_code == 0
    server = ("--agreement", tmp_path / "agreement.json", "--store", tmp_path / "run.sqlite")
    assert "budgeted" in refused("federate", "finish", *server)
    assert "nothing is asked" in refused("federate", "export", *server, "--out", tmp_path / "question.bin")


def test_a_run_by_hand(run: Run, refused: Refused, shop: Path, tmp_path: Path) -> None:
    """Letters and factors carried as files; no network, no mask keys, nothing asked."""
    assert run(*agree(shop, tmp_path)).exit_code == 0
    server = ("--agreement", tmp_path / "agreement.json", "--store", tmp_path / "run.sqlite")
    model = ("federate", "model", *server, "--catalogue", shop / "items.csv", "--out", tmp_path / "factors")
    rows = (shop / "train.csv").read_text().splitlines()
    letters = []
    for number, name in enumerate(("east", "north", "south")):
        (tmp_path / f"{name}.csv").write_text("\n".join([rows[0], *rows[1 + number :: 3]]) + "\n")
        party = (
            "--agreement",
            tmp_path / "agreement.json",
            "--name",
            name,
            "--ratings",
            tmp_path / f"{name}.csv",
        )
        party += (*COLUMNS, "--catalogue", shop / "items.csv", "--store", tmp_path / f"{name}.sqlite")
        letter = tmp_path / f"{name}.bin"
        assert "need no --question" in refused(
            "federate", "answer", *party, "--question", letter, "--out", letter
        )
        first = json.loads(run("federate", "answer", *party, "--out", letter, "--json").stdout)
        content = letter.read_bytes()
        assert json.loads(run("federate", "answer", *party, "--out", letter, "--json").stdout) == first
        assert letter.read_bytes() == content
        assert (first["bytes"], first["epsilon_spent"], first["file"]) == (len(content), 30.0, str(letter))
        letters.append(letter)
    imported = json.loads(run("federate", "import", *letters[:2], *server, "--json").stdout)
    assert imported["waiting_for"] == ["south"]
    assert "awaited from: south" in refused(*model)
    assert "larger than any" in refused("federate", "import", _huge(tmp_path), *server)
    assert "finished" in run("federate", "import", letters[2], *server).stdout
    saved = json.loads(run(*model, "--json").stdout)
    assert (saved["private"], saved["epsilon"], saved["messages_up"]) == (True, 30.0, 3)
    assert load_factors(tmp_path / "factors").factors.shape == (40, 2)


def _huge(folder: Path) -> Path:
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(1 << 28)
    return folder / "huge.bin"
