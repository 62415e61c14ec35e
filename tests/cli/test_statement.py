"""``discreet statement``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.model import Model
from discreet.statements import write_document
from discreet.statements.page import page
from tests.cli.conftest import Run
from tests.statements.test_signature import KEY, pem, public_pem
from tests.statements.test_stored_models import FIXTURES


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A private model that can be loaded."""
    return Model.load(FIXTURES / "silos").save(tmp_path / "shop")


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """A private key and its public half."""
    private, public = tmp_path / "key.pem", tmp_path / "public.pem"
    private.write_bytes(pem(KEY))
    public.write_bytes(public_pem(KEY))
    return private, public


def test_the_text_has_plain_words_the_statement_and_the_terms(run: Run, model: Path) -> None:
    text = run("statement", model).stdout
    assert text.startswith("In plain words\n  - user-level differential privacy, epsilon 5 at delta 1e-6")
    assert "\n  - Who is protected? Every person in the data." in text
    assert str(Model.load(model).statement) in text
    assert "it finds at most 9.6 of 100 who are" in " ".join(text.split())
    assert "Terms\n" in text
    assert max(map(len, text.splitlines())) <= 100


def test_json_and_page_are_those_of_the_document(run: Run, model: Path, tmp_path: Path) -> None:
    document = write_document(model)
    assert json.loads(run("statement", model, "--json").stdout) == document.to_dict()
    shown = run("statement", model, "--html", tmp_path / "s.html")
    assert shown.stdout == f"The page is in {tmp_path / 's.html'}\n"
    assert (tmp_path / "s.html").read_text() == page(document)


def test_signed_and_checked(run: Run, model: Path, keys: tuple[Path, Path]) -> None:
    private, public = keys
    made = run("statement", model, "--sign", private)
    assert made.exit_code == 0
    statement = model.with_name("shop.statement.json")
    assert json.loads(statement.read_text()) == write_document(model).to_dict()
    assert len(statement.with_name("shop.statement.json.sig").read_bytes()) == 64
    good = run("statement", model, "--verify", statement, "--key", public)
    assert good.exit_code == 0
    assert "epsilon 5 at delta 1e-6" in good.stdout
    assert "is that model, byte for byte." in good.stdout
    fingerprint = good.stdout.split("the key ")[1].split(";")[0]
    assert fingerprint.startswith("SHA256:")
    assert fingerprint in made.stdout
    Model.load(model)  # nothing was put into its folder


def test_another_model_or_statement_ends_with_exit_code_1(
    run: Run, model: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    private, public = keys
    statement = tmp_path / "signed.json"
    run("statement", model, "--sign", private, "--out", statement)
    other = run("statement", FIXTURES / "central", "--verify", statement, "--key", public)
    assert other.exit_code == 1
    assert (
        "is NOT that model: catalogue.json has" in other.stdout or "is NOT that model: model" in other.stdout
    )
    statement.write_text(statement.read_text().replace("shop", "shep"))
    forged = run("statement", model, "--verify", statement, "--key", public)
    assert forged.exit_code == 1
    assert forged.stdout.startswith("NOT SIGNED by the key SHA256:")
    assert "epsilon" not in forged.stdout
    as_json = json.loads(run("statement", model, "--verify", statement, "--key", public, "--json").stdout)
    assert (as_json["good"], as_json["signed"]) == (False, False)


def test_without_cryptography_the_extra_is_named(
    refused: Callable[..., str], model: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "discreet.statements.signature", raising=False)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert "pip install 'discreet[sign]'" in refused("statement", model, "--sign", keys[0])
