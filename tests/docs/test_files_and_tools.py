"""The pages on files and on other tools say what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli import main

ROOT = Path(__file__).parents[2]


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


def test_the_examples_of_other_tools(capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks("ecosystem.md"):
        exec(compile(block, "ecosystem.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pandas 3000"
    assert lines[1] == "['user', 'rank', 'item', 'score']"
    assert lines[2].startswith("['rank', 'item', 'score'")
    assert lines[3] == "20.0"
    assert lines[4] == "(1, 3) (1, 10)"


def test_the_command_lines_of_both_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "".join((ROOT / "docs" / page).read_text() for page in ("files.md", "ecosystem.md"))
    lines = re.findall(r"^    (?:cat (\S+) \| )?discreet (.*)$", text.replace("\\\n", " "), re.MULTILINE)
    assert len(lines) == 7
    for given, words in lines:
        named = [word if word != "model" else "from-files" for word in shlex.split(words)]
        done = CliRunner().invoke(main, named, input=Path(given).read_bytes() if given else None)
        assert done.exit_code == 0, (words, done.output)
    assert Path("README.md").read_text().startswith("---\nlibrary_name: discreet")
