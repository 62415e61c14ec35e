"""What is in deploy/, as far as it can be tried without an engine for containers and without being root.

The image's own commands are run here in its place, on a free port; the unit is checked by systemd where there is one.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from discreet.cli import main
from discreet.devices.collector.app import CollectorSettings
from discreet.model import Model
from discreet.web.service import ServiceSettings
from tests.web.support.running import Running

DEPLOY = Path(__file__).parents[2] / "deploy"
PROGRAM = "/opt/discreet/bin/"


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's, each with what it is given."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
    found = [line.split(maxsplit=1) for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    return [(name, words) for name, words in found]


def words_of(name: str) -> list[str]:
    """The last instruction of that name, written as a list."""
    given = [words for known, words in instructions() if known == name][-1]
    words: list[str] = json.loads(given[given.index("[") :])
    return words


def test_the_image_is_made_of_files_that_are_there() -> None:
    copied = [words.split() for name, words in instructions() if name == "COPY" and "--from" not in words]
    assert {"src", "pyproject.toml", "deploy/demo_model.py"} <= {file for files in copied for file in files}
    for *files, _ in copied:
        for file in files:
            assert (DEPLOY.parent / file).exists(), file
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["discreet"]
    assert (DEPLOY / composed["build"]["context"] / composed["build"]["dockerfile"]).samefile(
        DEPLOY / "Dockerfile"
    )
    assert all(port.startswith("127.0.0.1:") for port in composed["ports"])
    assert composed["read_only"]
    assert composed["ports"][0].endswith(f":{dict(instructions())['EXPOSE']}")


def test_the_image_serves_and_is_found_healthy(running: Running) -> None:
    start = [*words_of("ENTRYPOINT"), *words_of("CMD")]
    assert start[:3] == [f"{PROGRAM}discreet", "serve", "/models/current"]
    known = CliRunner().invoke(main, ["serve", "--help"]).output
    assert all(word in known for word in start[3:] if word.startswith("--"))
    for port, healthy in ((running.port, True), (1, False)):
        words = [word.replace(":8080", f":{port}") for word in words_of("HEALTHCHECK")]
        assert (subprocess.run([sys.executable, *words[1:]], capture_output=True).returncode == 0) is healthy


def test_the_demonstration_model_has_titles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.spec_from_file_location("demo_model", DEPLOY / "demo_model.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    monkeypatch.setattr(module, "USERS", 600)
    monkeypatch.setattr(module, "RATINGS", 20_000)
    module.main(str(tmp_path / "model"))
    model = Model.load(tmp_path / "model")
    assert len(set(model.catalogue.titles.values())) == 1_000
    assert model.statement.private


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = (DEPLOY / "discreet.service").read_text()
    (start,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    program, *words = shlex.split(start)
    assert program == f"{PROGRAM}discreet"
    assert "UMask=0077" in unit.splitlines()
    known = CliRunner().invoke(main, [words[0], "--help"]).output
    assert all(word in known for word in words if word.startswith("--"))
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed, so it was not asked about the unit")
    (tmp_path / "discreet.service").write_text(unit.replace(program, sys.executable))
    told = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "discreet.service")], capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr
    assert "discreet.service" not in told.stderr, told.stderr


def test_the_proxy_speaks_to_where_both_listen_and_writes_nobody_down(tmp_path: Path) -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    ports = {ServiceSettings.model_fields["port"].default, CollectorSettings.model_fields["port"].default}
    assert set(re.findall(r"proxy_pass http://127\.0\.0\.1:(\d+);", text)) == set(map(str, ports))
    assert "access_log off;" in text
    assert text.count("{") == text.count("}")
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed, so it was not asked about its configuration")
    text = re.sub(r"^ *ssl_certificate.*$", "", text, flags=re.MULTILINE).replace(" ssl;", ";")
    (tmp_path / "nginx.conf").write_text(text.replace("/run/nginx-discreet.pid", str(tmp_path / "pid")))
    told = subprocess.run(["nginx", "-t", "-c", str(tmp_path / "nginx.conf")], capture_output=True, text=True)
    assert "syntax is ok" in told.stderr, told.stderr
