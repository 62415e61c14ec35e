"""Stored models: what was written is read, and what was altered is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from discreet.errors import ModelInvalid
from discreet.model import Model
from discreet.model.storage import VERSION
from discreet.statements import write_document
from discreet.statements.document import text_lines
from discreet.statements.page import page

FIXTURES = Path(__file__).parents[1] / "fixtures" / "models"
MODELS = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir())


def test_every_trust_model_is_there() -> None:
    models = {json.loads((FIXTURES / name / "statement.json").read_text())["model"] for name in MODELS}
    assert models == {"central", "silos", "local"}


@pytest.mark.parametrize("name", MODELS)
def test_the_statement_is_read_as_it_was_written(name: str) -> None:
    document = write_document(FIXTURES / name)
    stored = json.loads((FIXTURES / name / "statement.json").read_text())
    assert document.statement.model_dump(mode="json") == stored
    assert document.model.method in ("budgeted", "als", "devices", "prototypes")
    assert document.model.items == len(json.loads((FIXTURES / name / "catalogue.json").read_text())["ids"])
    assert all(len(line) <= 100 for line in text_lines(document))
    assert stored["private"] == (name != "not-private") == (document.meaning is not None)
    assert ("Not private" in page(document)) == (not stored["private"])


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_another_format_is_refused_as_such(version: int, tmp_path: Path) -> None:
    folder = copied(MODELS[0], tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "version": version}))
    for read in (write_document, Model.load):
        with pytest.raises(ModelInvalid, match=f"version {version}; this release reads"):
            read(folder)


@pytest.mark.parametrize("file", ["statement.json", "model.json", "catalogue.json", "model.safetensors"])
def test_an_altered_byte_is_found(file: str, tmp_path: Path) -> None:
    folder = copied("central", tmp_path)
    content = bytearray((folder / file).read_bytes())
    content[len(content) // 3] ^= 1
    (folder / file).write_bytes(content)
    with pytest.raises(ModelInvalid, match=file):
        write_document(folder)


def copied(name: str, to: Path) -> Path:
    folder: Path = shutil.copytree(FIXTURES / name, to / "model")
    return folder
