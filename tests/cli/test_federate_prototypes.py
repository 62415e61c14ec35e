"""``discreet federate`` with private prototypes: the agreement, a whole run, and going on without silos."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from discreet.model import Model
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.shared.agreement import PrototypeAgreement, load_agreement
from discreet.silos.shared.keys import make_authority
from discreet.silos.shared.outcome import encode_model
from tests.cli.conftest import Run
from tests.cli.test_federate import signed_size

Refused = Callable[..., str]

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars")
TERMS = ("--method", "prototypes", "--prototypes", 3, "--epsilon", 30, "--rating-range", 1, 5, "--rank", 2)


def agree(shop: Path, folder: Path, *changes: object) -> tuple[object, ...]:
    """With keys of a test authority, which is made if it is not there."""
    if not (folder / "tls").exists():
        make_authority(folder / "tls", ["east", "north", "south"])
    keys = ("--keys", folder / "tls" / "keys.json")
    common = ("--name", "trial", *keys, *TERMS, "--catalogue", shop / "items.csv")
    return ("federate", "agree", *common, "--out", folder / "agreement.json", *changes)


def test_simulate(run: Run, refused: Refused, shop: Path, tmp_path: Path) -> None:
    out, options = tmp_path / "model", (*COLUMNS, *TERMS, "--preset", "swap", "--silos", 2)
    options = (*options, "--catalogue", shop / "items.csv", "--out", out)
    result = run("federate", "simulate", shop / "train.csv", *options, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["silos"] == ["silo-1", "silo-2"]
    assert (content["method"], content["prototypes"], content["rank"], content["rounds"]) == (
        "prototypes", 3, 2, 1,
    )  # fmt: skip
    assert (content["messages_up"], content["messages_down"]) == (2, 2)
    assert content["bytes_down"] == content["model_bytes_down"] == 2 * _sent_bytes(out)
    assert content["bytes_up"] == content["traffic"][0]["bytes_up"] > 0
    assert (content["private"], content["epsilon"], content["delta"], content["mu"]) == (True, 30.0, 0.0, 0.0)
    assert content["epsilon_in_two"] == 60.0
    assert sum(release["epsilon"] for release in content["releases"]) == pytest.approx(30.0)
    for account in content["accounts"].values():
        assert account == {"epsilon_spent": 30.0, "messages": 1}
    model = Model.load(out)
    assert model.statement.silos is not None
    assert (model.statement.model, model.statement.silos.count) == ("silos", 2)
    assert model.item_side.factors.shape[0] == 40
    assert model.item_side.scale.range == (1.0, 5.0)
    assert "already has a model" in refused("federate", "simulate", shop / "train.csv", *options)


def _sent_bytes(model: Path) -> int:
    """Length of the message with a model, written again from where it was saved."""
    agreement = SimpleNamespace(run_id="f" * 32)
    return signed_size(encode_model(Model.load(model), agreement))  # type: ignore[arg-type]


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
        (("--preset", "swap", "--delta", "1e-5"), "leave --delta out"),
        (("--set", "clustering=swap", "--delta", "1e-5"), "leave --delta out"),
        (("--honest", 2), "--honest is for methods that sum"),
        (("--noise", "server"), "--noise is for methods that sum"),
        (("--rounds", 2), "--rounds is for methods that sum"),
        (("--set", "prototypes=4"), "use --prototypes"),
        (("--set", "factors.rank=4"), "use --rank"),
        (("--set", "flavour=3"), "Known settings"),
        (("--set", "factors.flavour=3"), "Known settings"),
        (("--epsilon", "much"), "must be a number"),
        (("--epsilon", "-1"), "above zero"),
        (("--rating-range", -1, 1), "non-negative"),
        (("--silo", f"north={'0' * 64}"), "each name once"),
        (("--silo", "west"), "NAME=SIGNING"),
        (("--method", "budgeted", "--delta", "1e-5"), "--prototypes goes with"),
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


def test_a_run_by_hand(run: Run, refused: Refused, shop: Path, tmp_path: Path) -> None:
    """Messages and the model carried as files; no network, no mask keys, nothing asked."""
    assert run(*agree(shop, tmp_path)).exit_code == 0
    server = ("--agreement", tmp_path / "agreement.json", "--store", tmp_path / "run.sqlite")
    model = ("federate", "model", *server, "--catalogue", shop / "items.csv", "--out", tmp_path / "model")
    rows = (shop / "train.csv").read_text().splitlines()
    messages = []
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
        assert "--signing-key" in refused("federate", "answer", *party, "--out", tmp_path / "x.bin")
        party += ("--signing-key", tmp_path / "tls" / "silos" / name / "signing.key")
        message = tmp_path / f"{name}.bin"
        assert "need no --question" in refused(
            "federate", "answer", *party, "--question", message, "--out", message
        )
        first = json.loads(run("federate", "answer", *party, "--out", message, "--json").stdout)
        content = message.read_bytes()
        assert json.loads(run("federate", "answer", *party, "--out", message, "--json").stdout) == first
        assert message.read_bytes() == content
        assert (first["bytes"], first["epsilon_spent"], first["file"]) == (len(content), 30.0, str(message))
        messages.append(message)
    imported = json.loads(run("federate", "import", *messages[:2], *server, "--json").stdout)
    assert imported["waiting_for"] == ["south"]
    assert "awaited from: south" in refused(*model)
    assert "larger than any" in refused("federate", "import", _huge(tmp_path), *server)
    assert "finished" in run("federate", "import", messages[2], *server).stdout
    saved = json.loads(run(*model, "--json").stdout)
    assert (saved["private"], saved["epsilon"], saved["messages_up"]) == (True, 30.0, 3)
    assert Model.load(tmp_path / "model").item_side.factors.shape[0] == 40


def _huge(folder: Path) -> Path:
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(1 << 28)
    return folder / "huge.bin"
