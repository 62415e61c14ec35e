"""Every model this project ever wrote: its statement is read, or the refusal names the version that reads it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from discreet.errors import ModelInvalid
from discreet.model import Model
from discreet.model.description import describe
from discreet.model.storage import EARLIER, VERSION
from discreet.statements import write_document
from discreet.statements.page import page
from discreet.statements.text import text_lines

FIXTURES = Path(__file__).parents[1] / "fixtures" / "models"
FACTORS = "0.1.0-prototypes"
MODELS = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir() and path.name != FACTORS)


def test_every_format_is_there() -> None:
    formats = {json.loads((FIXTURES / name / "manifest.json").read_text())["version"] for name in MODELS}
    assert formats == {*EARLIER, VERSION}
    models = {json.loads((FIXTURES / name / "statement.json").read_text())["model"] for name in MODELS}
    assert models == {"central", "silos", "local"}


@pytest.mark.parametrize("name", MODELS)
def test_the_statement_is_read_as_it_was_written(name: str) -> None:
    document = write_document(FIXTURES / name)
    stored = json.loads((FIXTURES / name / "statement.json").read_text())
    read = document.statement.model_dump(mode="json")
    assert {key: read[key] for key in stored if key not in ("releases", "goal")} == {
        key: value for key, value in stored.items() if key not in ("releases", "goal")
    }
    for old, new in zip(stored["releases"], read["releases"], strict=True):
        assert {key: new[key] for key in old} == old
    assert document.model.method in ("budgeted", "als", "devices", "prototypes")
    assert document.model.items == len(json.loads((FIXTURES / name / "catalogue.json").read_text())["ids"])
    assert all(len(line) <= 100 for line in text_lines(document))
    assert stored["private"] == ("not-private" not in name) == (document.meaning is not None)
    assert ("Not private" in page(document)) == (not stored["private"])


@pytest.mark.parametrize("name", MODELS)
def test_what_cannot_be_loaded_is_said_and_by_which_version(name: str) -> None:
    unloadable = describe(FIXTURES / name).unloadable
    if name.startswith("0.2.0-undated"):
        assert unloadable is None
        Model.load(FIXTURES / name)
        return
    version = "0.1.0" if name.startswith("0.1.0") else "0.2.0 before its release"
    assert unloadable is not None
    assert version in unloadable
    with pytest.raises(ModelInvalid, match=version):
        Model.load(FIXTURES / name)
    assert f"This release cannot load the arrays: {unloadable}" in page(write_document(FIXTURES / name))


def test_factors_of_prototypes_are_refused_with_the_version_that_reads_them() -> None:
    with pytest.raises(ModelInvalid, match=r"discreet 0\.1\.0 wrote them; that version reads them"):
        write_document(FIXTURES / FACTORS)


def test_a_later_format_is_refused_as_such(tmp_path: Path) -> None:
    folder = copied(MODELS[0], tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "version": VERSION + 1}))
    with pytest.raises(ModelInvalid, match="a later release may read it"):
        write_document(folder)


@pytest.mark.parametrize("name", ["0.1.0-central", "0.2.0-early-central", "0.2.0-undated-central"])
@pytest.mark.parametrize("file", ["statement.json", "model.json", "catalogue.json", "model.safetensors"])
def test_an_altered_byte_is_found_in_every_format(name: str, file: str, tmp_path: Path) -> None:
    folder = copied(name, tmp_path)
    content = bytearray((folder / file).read_bytes())
    content[len(content) // 3] ^= 1
    (folder / file).write_bytes(content)
    with pytest.raises(ModelInvalid, match=file):
        write_document(folder)


def copied(name: str, to: Path) -> Path:
    folder: Path = shutil.copytree(FIXTURES / name, to / "model")
    return folder
