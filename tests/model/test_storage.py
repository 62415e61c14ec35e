"""A saved model is whole, comes back the same, and is refused when anything about it changed."""

from __future__ import annotations

import errno
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ModelInvalid
from discreet.model import Model, directory
from tests.conformance.runs import same
from tests.model.models import make_model

FILES = ["catalogue.json", "manifest.json", "model.json", "model.safetensors", "statement.json"]


@pytest.fixture
def saved(explicit: Model, tmp_path: Path) -> Path:
    """A model on disk."""
    return explicit.save(tmp_path / "model")


def edit_json(path: Path, change: dict[str, object]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))


def sign_again(folder: Path) -> None:
    """What a careful forger would do, to get past the digests to the checks of the content."""
    digests = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}
    del digests["manifest.json"]
    edit_json(folder / "manifest.json", {"files": digests})


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
@pytest.mark.parametrize("rank", [0, 3])
def test_round_trip_to_the_last_bit(tmp_path: Path, feedback: str, rank: int) -> None:
    model = make_model(feedback, rank=rank)
    back = Model.load(model.save(str(tmp_path / "model")))
    assert same(back.item_side, model.item_side)
    assert (back.catalogue, back.statement) == (model.catalogue, model.statement)
    assert back.catalogue.titles == model.catalogue.titles
    assert (back.method, back.settings) == (model.method, model.settings)
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == FILES


@pytest.mark.parametrize("name", FILES)
def test_one_altered_byte_in_any_file_is_found(saved: Path, name: str) -> None:
    content = bytearray((saved / name).read_bytes())
    content[len(content) // 2] ^= 1
    (saved / name).write_bytes(content)
    with pytest.raises(ModelInvalid, match=name):
        Model.load(saved)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(saved: Path, name: str) -> None:
    (saved / name).unlink()
    with pytest.raises(ModelInvalid, match=name):
        Model.load(saved)


@pytest.mark.parametrize("name", ["manifest.json", "model.json", "statement.json", "catalogue.json"])
def test_endless_brackets_are_refused(saved: Path, name: str) -> None:
    (saved / name).write_text("[" * 100_000)
    if name != "manifest.json":
        sign_again(saved)
    with pytest.raises(ModelInvalid, match=re.escape(name)):
        Model.load(saved)


def test_an_added_file_is_named(saved: Path) -> None:
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(ModelInvalid, match=r"notes\.txt does not belong"):
        Model.load(saved)


def test_what_is_no_model_at_all(tmp_path: Path) -> None:
    with pytest.raises(ModelInvalid, match="not a model directory"):
        Model.load(tmp_path)
    with pytest.raises(ModelInvalid, match="there is no model"):
        Model.load(tmp_path / "nothing")


def test_another_format_version_is_refused(saved: Path) -> None:
    for version in (3, 1, 0, True, "2", None, [2]):
        edit_json(saved / "manifest.json", {"version": version})
        with pytest.raises(ModelInvalid, match="a later release may read it, or the file was altered"):
            Model.load(saved)


def test_a_manifest_that_leaves_a_file_out_is_refused(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    del manifest["files"]["statement.json"]
    (saved / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelInvalid, match=r"manifest\.json was altered"):
        Model.load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": None}, "method"),
        ({"method": 3}, "method"),
        ({"settings": [1]}, "settings"),
        ({"surprise": 1}, "exactly method, settings"),
        ({"written": "today"}, "with 'by', and 'on' at most"),
        ({"written": {"by": "9", "where": "here"}}, "'on' at most"),
        ({"written": {"on": "2031-01-01"}}, "with 'by'"),
        ({"written": {"by": "9", "on": 5}}, "as text"),
        ({"settings": {"rank": float("nan")}}, "NaN is not a finite number"),
    ],
)
def test_an_impossible_description_is_refused_even_with_a_fresh_manifest(
    saved: Path, change: dict[str, object], message: str
) -> None:
    edit_json(saved / "model.json", change)
    sign_again(saved)
    with pytest.raises(ModelInvalid, match=rf"model\.json.*{message}"):
        Model.load(saved)


def test_a_statement_that_claims_privacy_without_releases_is_refused(saved: Path) -> None:
    edit_json(saved / "statement.json", {"private": True, "epsilon": 0.1, "delta": 1e-9, "mu": 0.01})
    sign_again(saved)
    with pytest.raises(ModelInvalid, match=r"statement\.json"):
        Model.load(saved)


def test_a_model_is_only_replaced_when_asked(saved: Path) -> None:
    other = make_model("explicit", seed=5)
    with pytest.raises(ModelInvalid, match=r"already has a model.*--force"):
        other.save(saved)
    other.save(saved, overwrite=True)
    np.testing.assert_array_equal(Model.load(saved).item_side.offsets, other.item_side.offsets)
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_a_directory_with_other_things_is_never_replaced(explicit: Model, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ModelInvalid, match="other files in it and no model"):
        explicit.save(tmp_path, overwrite=True)
    with pytest.raises(ModelInvalid, match="not a directory"):
        explicit.save(tmp_path / "thesis.tex", overwrite=True)
    with pytest.raises(ModelInvalid, match="create it before"):
        explicit.save(tmp_path / "missing" / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("moment", range(8))
def test_a_failure_at_any_moment_leaves_the_old_model_and_nothing_else(
    saved: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, moment: int
) -> None:
    """The fsyncs and renames, in order, fail one at a time: 6 fsyncs of the new files, then two renames."""
    before = Model.load(saved).item_side.offsets
    steps = 0

    def failing(real):  # type: ignore[no-untyped-def]
        def step(*arguments):  # type: ignore[no-untyped-def]
            nonlocal steps
            steps += 1
            if steps == moment + 1:
                raise failure
            return real(*arguments)

        return step

    with monkeypatch.context() as patch:
        for name in ("fsync", "rename"):
            patch.setattr(directory.os, name, failing(getattr(directory.os, name)))
        with pytest.raises(type(failure)):
            make_model("explicit", seed=5).save(saved, overwrite=True)
    assert [path.name for path in saved.parent.iterdir()] == ["model"]
    np.testing.assert_array_equal(Model.load(saved).item_side.offsets, before)


def test_an_output_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out.bin"
    directory.replace_file(target, lambda file: file.write(b"first"), private=False)

    def fail(file: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        directory.replace_file(target, fail, private=False)
    assert target.read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["out.bin"]
