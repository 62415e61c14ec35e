"""Model folders: damaged as they lie there, forged with a new manifest, and the arrays alone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from random import Random

import numpy as np

from discreet.model import Model
from discreet.model.folder import describe
from discreet.model.storage import item_side_to_bytes, side_from_bytes
from discreet.statements import write_document
from discreet.statements.document import text_lines
from discreet.statements.page import page
from tests.conformance.runs import same
from tests.hostile.byte_mutations import damage
from tests.hostile.json_mutations import mutate_json
from tests.hostile.kind import Kind, Outcome
from tests.hostile.safetensors_mutations import mutate_safetensors
from tests.model.models import make_doubtful, make_model, make_table

__all__ = ["Arrays", "DamagedModel", "ForgedModel"]

MANIFEST = "manifest.json"
STORED = Path(__file__).parents[1] / "fixtures" / "models"


class Genuine:
    """A model on disk that can be spoilt file by file and put right again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = Model.load(folder)
        self.files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        self.digest = describe(folder).digest

    def restore(self) -> None:
        """Every file as it was, and no other."""
        if self.folder.is_symlink() or not self.folder.is_dir():
            self.folder.unlink()
            self.folder.mkdir()
        for path in self.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name not in self.files or path.is_symlink() or not path.is_file():
                path.unlink()
        for name, content in self.files.items():
            (self.folder / name).write_bytes(content)

    def is_same(self, other: Model) -> bool:
        """Whether a model is this one in every part."""
        mine = self.model
        return (
            same(other.item_side, mine.item_side)
            and other.catalogue == mine.catalogue
            and other.catalogue.titles == mine.catalogue.titles
            and other.catalogue.feature_encoder == mine.catalogue.feature_encoder
            and (other.statement, other.method, other.settings)
            == (mine.statement, mine.method, mine.settings)
        )


def _genuine(folder: Path) -> list[Genuine]:
    made = {
        "explicit": make_doubtful("explicit"),
        "implicit": make_model("implicit"),
        "table": make_table("explicit"),
    }
    for name, model in made.items():
        model.save(folder / name)
    for name in ("central", "tuned"):
        shutil.copytree(STORED / name, folder / name)
    return [Genuine(path) for path in sorted(folder.iterdir())]


class DamagedModel(Kind):
    """A folder with altered bytes, or files that are missing, added, swapped or not files: refused, or the same."""

    may_differ = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "models").mkdir()
        self._outside = folder / "outside"
        self._outside.write_bytes(b"something else")
        self._genuine = _genuine(folder / "models")

    def attempt(self, draw: Random) -> Outcome:
        """Spoil one file, or the folder itself."""
        genuine = draw.choice(self._genuine)
        name = draw.choice(list(genuine.files))
        try:
            if draw.random() < 0.1:
                self._rearrange(draw, genuine, name)
            else:
                body = genuine.files[name]
                (genuine.folder / name).write_bytes((mutate_json if name == MANIFEST else damage)(draw, body))
            read = Model.load(genuine.folder)
            return "same" if genuine.is_same(read) else "other"
        finally:
            genuine.restore()

    def _rearrange(self, draw: Random, genuine: Genuine, name: str) -> None:
        path, kind = genuine.folder / name, draw.randrange(10)
        if kind < 4:
            path.unlink()
        if kind == 1:
            path.symlink_to(
                draw.choice((self._outside, "/dev/zero", "/dev/null", path, genuine.folder, "/nowhere"))
            )
        elif kind == 2:
            path.mkdir()
        elif kind == 3:
            os.mkfifo(path)
        elif kind == 4:
            other = draw.choice(list(genuine.files))
            path.write_bytes(genuine.files[other])
        elif kind == 5:
            others = draw.choice(self._genuine)
            path.write_bytes(others.files[name])
        elif kind == 6:
            (
                genuine.folder / draw.choice(("extra", ".hidden", "model.pkl", "x" * 200, "\u202e", "a\nb"))
            ).touch()
        elif kind == 7:
            manifest = json.loads(genuine.files[MANIFEST])
            manifest["files"][draw.choice(("../outside", "/etc/passwd", "./model.json", ""))] = "0" * 64
            (genuine.folder / MANIFEST).write_text(json.dumps(manifest))
        elif kind == 8:
            os.truncate(path, draw.choice((0, 1, 2**40)))
        elif kind == 9:
            shutil.rmtree(genuine.folder)
            genuine.folder.symlink_to(draw.choice((self._outside, genuine.folder, "/dev/zero")))


class ForgedModel(Kind):
    """One altered file and a manifest to match: refused, or a whole model whose digest is another."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "models").mkdir()
        self._genuine = _genuine(folder / "models")

    def attempt(self, draw: Random) -> Outcome:
        """Spoil one file and sign it again."""
        genuine = draw.choice(self._genuine)
        files = dict(genuine.files)
        name = draw.choice([name for name in files if name != MANIFEST])
        mutate = mutate_safetensors if name.endswith(".safetensors") else mutate_json
        files[name] = mutate(draw, files[name])
        manifest = json.loads(files[MANIFEST])
        manifest["files"][name] = hashlib.sha256(files[name]).hexdigest()
        try:
            (genuine.folder / name).write_bytes(files[name])
            (genuine.folder / MANIFEST).write_text(json.dumps(manifest))
            return self._judged(genuine, Model.load(genuine.folder))
        finally:
            genuine.restore()

    def _judged(self, genuine: Genuine, read: Model) -> Outcome:
        document = write_document(genuine.folder)
        unchanged = genuine.is_same(read)
        assert document.model.digest != genuine.digest or unchanged, "another model has the same digest"
        assert json.loads(document.to_json())["model"]["digest"] == document.model.digest
        assert page(document).encode()
        assert "\n".join(text_lines(document)).encode()
        recommend(read)
        return "same" if unchanged else "other"


def recommend(model: Model) -> None:
    """What a loaded model is for; scores are numbers, whatever is in the files."""
    ids = model.catalogue.ids.tolist()[:2]
    low, high = model.item_side.scale.bounds
    history = dict.fromkeys(ids, (low + high) / 2) if model.item_side.scale.explicit else ids
    scores = [one.score for one in model.recommend(history, 3)]
    assert np.isfinite(scores).all(), f"scores {scores}"
    alike = [one.score for item in ids for one in model.similar(item, 3)]
    assert np.isfinite(alike).all(), f"alike {alike}"


class Arrays(Kind):
    """The item side as bytes, as silos and devices get it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        models = (
            make_doubtful("explicit"),
            make_model("implicit"),
            make_model("explicit", rank=0),
            make_table("explicit"),
            make_table("implicit", sums=False),
        )
        self._genuine = [item_side_to_bytes(model.item_side) for model in models]

    def attempt(self, draw: Random) -> Outcome:
        """Spoil the bytes; what is read can be written and read again."""
        genuine = draw.choice(self._genuine)
        side = side_from_bytes(mutate_safetensors(draw, genuine))
        written = item_side_to_bytes(side)
        assert same(side_from_bytes(written), side)
        return "same" if written == genuine else "other"
