"""``discreet serve`` as a person starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from click.testing import CliRunner

from discreet.cli import main
from tests.web.support.models import make_model


def test_it_says_where_it_is_answers_there_and_stops_when_told_to(tmp_path: Path) -> None:
    folder = make_model("Ridge", 30, 3).save(tmp_path / "model")
    command = [sys.executable, "-m", "discreet", "serve", str(folder), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = json.loads(process.stdout.readline())["address"]
        with urlopen(f"{address}/health/ready") as answer:
            assert json.load(answer)["items"] == 30
        with urlopen(address) as answer:
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert b"What to pick next" in answer.read()
        os.kill(process.pid, signal.SIGINT)
        assert "Stopped." in process.stderr.read()


def test_mistakes_end_with_two_and_a_sentence(tmp_path: Path) -> None:
    folder = make_model("Ridge", 30, 3).save(tmp_path / "model")
    for words, why in (
        ([str(tmp_path / "modl")], f"did you mean {folder}?"),
        ([str(folder), "--host", "0.0.0.0"], "--anyone"),
        ([str(folder), "--largest-body", "1"], "--largest-body"),
        ([str(folder), "--token-file", str(tmp_path / "absent")], "token"),
    ):
        done = CliRunner().invoke(main, ["serve", *words])
        assert done.exit_code == 2, done.output
        assert why in done.output
