"""Proof notes and code find each other: every note, module and name that one of them mentions exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet

ROOT = Path(discreet.__file__).parent
PRIVACY = ROOT / "privacy"
# Randomised response is read with the devices that answer by it.
NOTES = sorted(path for path in PRIVACY.rglob("*.md") if "local" not in path.parts)
METHODS = sorted((ROOT / "methods").rglob("proofs/*.md"))
MODULES = sorted(path for path in PRIVACY.rglob("*.py") if "local" not in path.parts)


@pytest.mark.parametrize("note", [*NOTES, *METHODS], ids=lambda path: path.stem)
def test_a_note_names_only_what_exists(note: Path) -> None:
    text = note.read_text()
    for path in re.findall(r"`([a-z_/]+\.py)`", text):
        homes = (ROOT / path, note.parents[1] / path)
        inside_repository = ROOT.parents[1] / path
        assert any(home.is_file() for home in (*homes, inside_repository)), f"{note.name} names {path}"
    for path in re.findall(r"`([a-z_/]+\.md)`", text):
        assert (note.parent / path).is_file() or (ROOT / path).is_file(), f"{note.name} names {path}"
    source = "\n".join(path.read_text() for path in ROOT.rglob("*.py"))
    for name in re.findall(r"`([A-Z][a-z]+[A-Za-z]*)(?:\.[a-z_]+)?`", text):
        assert re.search(rf"\b{name}\b", source), f"{note.name} names {name}"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_module_names_only_notes_that_exist(module: Path) -> None:
    for path in re.findall(r"([a-z_/]*proofs/[a-z_]+\.md)", module.read_text()):
        assert (module.parent / path).is_file() or (ROOT / path).is_file(), f"{module} names {path}"


def test_every_note_is_named_by_a_module() -> None:
    source = "\n".join(path.read_text() for path in MODULES)
    assert [note.name for note in NOTES if f"proofs/{note.name}" not in source] == []
