"""``discreet export web``: a folder for any host, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli import main
from discreet.web.page import POLICY
from tests.web.support.models import make_model
from tests.web.support.node import STATIC


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model("Ridge", 50, 4).save(tmp_path_factory.mktemp("export") / "model")


def run(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["export", "web", *map(str, words)])
    return done.exit_code, done.output


def test_a_page_is_written_and_replaced_only_on_request(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page"
    code, text = run(folder, "--out", out, "--json")
    assert code == 0, text
    told = json.loads(text)
    assert told["files"] == sorted(path.name for path in out.iterdir())
    assert told["bytes"] == sum(path.stat().st_size for path in out.iterdir())
    assert {"index.html", "main.js", "style.css", "model.bin", "statement.html"} <= set(told["files"])
    before = (out / "model.bin").read_bytes()
    code, text = run(folder, "--out", out)
    assert code == 2
    assert "--force" in text
    code, _ = run(folder, "--out", out, "--force", "--precision", "float64")
    assert code == 0
    assert len((out / "model.bin").read_bytes()) > len(before)


def test_a_folder_with_other_things_is_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    code, text = run(folder, "--out", tmp_path, "--force")
    assert code == 2
    assert "other files" in text
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]
    code, text = run(folder, "--out", tmp_path / "no" / "page")
    assert code == 2


def test_no_file_of_the_page_names_another_host() -> None:
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text, path
        assert "https:" not in text, path
        assert "//" not in text.replace("// ", "").replace("//\n", ""), path


def test_the_page_itself_states_the_policy_that_the_service_sends() -> None:
    assert f'content="{POLICY}"' in (STATIC / "index.html").read_text(encoding="utf-8")
