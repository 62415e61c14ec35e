"""Forty lines outside the package are a private method like any other: in memory, on the command line, in the suite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet import Model, Ratings, silos
from discreet.methods.lookup import find_public_half
from discreet.methods.registry import find_method
from discreet.model.storage import item_side_to_bytes
from discreet.silos.shared.outcome import decode_model, encode_model
from tests.conformance import own_method, suite
from tests.conformance.cases import KINDS, hostile, town
from tests.conformance.own_method import ShyPopularity
from tests.silos.worlds import Run, agree, central, world

ROOT = Path(__file__).parents[2]
NAME = "tests.conformance.own_method:ShyPopularity"


def test_the_documents_show_it_as_it_is() -> None:
    code = Path(own_method.__file__).read_text().partition('"""\n\n')[2].strip()
    assert f"```python\n{code}\n```" in (ROOT / "docs" / "methods.md").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_it_keeps_every_promise(kind: str, tmp_path: Path) -> None:
    method = ShyPopularity(max_ratings=2, power=0.9)
    suite.check_everything(method, town(kind), hostile(kind), tmp_path, reached=0.99)


def test_it_is_found_by_its_path_and_its_parameters_are_its_settings() -> None:
    assert find_method(NAME) is ShyPopularity
    assert find_public_half(NAME) is ShyPopularity.public_half
    assert ShyPopularity().get_params() == {"discover_share": None, "max_ratings": 5, "power": 0.5}
    assert repr(ShyPopularity(power=0.25)) == "ShyPopularity(power=0.25)"


def test_the_command_line_trains_it_and_reads_its_model(tmp_path: Path) -> None:
    """In processes of their own, in a folder of their own: nothing but the path of the class is known."""
    clicks = town("implicit")
    write(clicks, tmp_path)
    files = ["--user", "user", "--item", "item"]
    trained = discreet(
        tmp_path,
        *("train", "clicks.csv", *files, "--catalogue", "items.csv", "--epsilon", "20", "--delta", "1e-6"),
        *("--method", NAME, "--set", "max_ratings=8", "--set", "power=0.75", "--out", "model"),
    )
    assert trained["method"] == "shy-popularity"
    assert [release["name"] for release in trained["releases"]] == ["users of each item"]
    assert Model.load(tmp_path / "model").settings == {
        "discover_share": None,
        "max_ratings": 8,
        "power": 0.75,
    }
    found = discreet(tmp_path, "recommend", "model", "--history", "history.csv", "-n", "4")
    assert len(found["users"][0]["recommendations"]) == 4
    scores = discreet(
        tmp_path, "evaluate", "model", "test.csv", "--history", "clicks.csv", *files, "--at", "10"
    )
    assert scores["recall@10"] > 0.8 * scores["baselines"]["popularity"]["recall@10"]


def write(clicks: Ratings, folder: Path) -> None:
    assert clicks.catalogue is not None
    ids = pl.Series("item", list(clicks.catalogue.ids))
    counts = [int(count) for count in clicks.indptr[1:] - clicks.indptr[:-1]]
    users = [f"user-{user}" for user, count in enumerate(counts) for _ in range(count)]
    frame = pl.DataFrame({"user": users, "item": ids.gather(clicks.items)})
    frame.gather_every(2).write_csv(folder / "clicks.csv")
    frame.gather_every(2, 1).write_csv(folder / "test.csv")
    frame.filter(pl.col("user") == users[0]).write_csv(folder / "history.csv")
    ids.to_frame().write_csv(folder / "items.csv")


def discreet(folder: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *arguments, "--json"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("kind", KINDS)
def test_silos_train_it_as_one_place_would(tmp_path: Path, kind: str) -> None:
    ratings = world("ratings" if kind == "explicit" else "clicks", users=300)
    settings = ShyPopularity.public_half.settings_type(max_ratings=3)
    agreement = agree(ratings, 3, method=NAME, settings=settings)
    run = Run(tmp_path, ratings, agreement)
    model, wanted = run.finish(), central(ratings, agreement)
    assert item_side_to_bytes(model.item_side) == item_side_to_bytes(wanted.item_side)
    assert run.catalogue is not None
    sent = decode_model(encode_model(model, agreement), agreement, run.catalogue)
    assert (sent.method, sent.settings) == (wanted.method, wanted.settings)
    run.close()
    parts = [ratings.take_users(slice(start, start + 100)) for start in (0, 100, 200)]
    fitted = silos.fit(parts, agreement.budget, method=ShyPopularity(max_ratings=3))
    assert fitted.model_.statement.private


def test_another_package_offers_it_by_an_entry_point(tmp_path: Path) -> None:
    """As an installed package would: a folder of metadata on the path is all that an installer leaves."""
    folder = tmp_path / "shy-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: shy\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[discreet.methods]\nshy-popularity = {NAME}\n")
    code = (
        "from discreet.methods.registry import METHODS, find_method\n"
        "from discreet.methods.lookup import find_public_half\n"
        "assert 'shy-popularity' in list(METHODS)\n"
        "assert find_method('shy-popularity').__name__ == 'ShyPopularity'\n"
        "assert find_public_half('shy-popularity').name == 'shy-popularity'\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "src")])
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, check=False)
    assert done.returncode == 0
