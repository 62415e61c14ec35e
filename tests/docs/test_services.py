"""Pages about services: their servers are started as written, and the lines about them are sent to them.

Only what a page cannot know is put in: a free port, the host's name, the key that a command printed.
"""

from __future__ import annotations

import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli import main
from tests.docs.pages import ROOT, steps
from tests.ports import free_port

TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the pages take as given: items, a model, a token."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["sample", "--users", "600", "--out", "."]).exit_code == 0
    columns = ["--user", "user", "--item", "item", "--rating", "rating", "--rating-range", "1", "5"]
    given = ["--catalogue", "items.csv", "--epsilon", "20", "--delta", "1e-4", "--out", "model"]
    assert CliRunner().invoke(main, ["train", "ratings.csv", *columns, *given]).exit_code == 0
    Path("token").write_text(TOKEN)
    return tmp_path


def lines(page: str, program: str = "discreet") -> list[list[str]]:
    """The page's command lines of a program."""
    found = steps((ROOT / "docs" / page).read_text())
    return [list(step.command[1:]) for step in found if step.command and step.command[0] == program]


def run(command: Sequence[str], *, module: str = "discreet") -> str:
    if module == "discreet":  # in this process: most of the time would go into its imports
        said = CliRunner().invoke(main, command)
        assert said.exit_code == 0, (command, said.output)
        return said.stdout
    done = subprocess.run(
        [sys.executable, "-m", module, *command], capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@contextmanager
def served(command: Sequence[str]) -> Iterator[int]:
    """A server, as a process, on a free port."""
    port = free_port()
    with open("log", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "discreet", *command, "--port", str(port)], stdout=log, stderr=log
        )
    try:
        while True:
            assert process.poll() is None, Path("log").read_text()
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
        process.send_signal(signal.SIGTERM)
        assert process.wait(240) in (0, -signal.SIGTERM), Path("log").read_text()
    finally:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("folder")
@pytest.mark.slow
def test_the_page_on_the_service() -> None:
    serve, export = lines("service.md")
    assert serve[0] == "serve"
    run(export)
    assert (Path("page") / "index.html").is_file()
    (ask,) = lines("service.md", "curl")
    with served(serve) as port:
        if shutil.which("curl") is None:
            pytest.skip("there is no curl here")
        ask = [part.replace(":8080", f":{port}") for part in ask]
        answer = subprocess.run(["curl", "-sS", *ask], capture_output=True, text=True, check=True).stdout
    assert '"recommendations"' in answer, answer


@pytest.mark.slow
def test_the_page_on_the_collector(folder: Path) -> None:
    serve, create, count, delete, delete_all, backup, restore = lines("collector.md")
    with served(serve) as port:

        def here(command: list[str]) -> list[str]:
            return [part.replace("https://collector.example", f"http://localhost:{port}") for part in command]

        run(here(create))
        assert "films" in run(here(count))
        run(here(delete))
        with pytest.raises(
            AssertionError, match="only a task that has ended goes"
        ):  # as the page says: once it has ended
            run(here(delete_all))
        run(backup)
    (folder / "collector.sqlite").unlink()
    for rest in folder.glob("collector.sqlite-*"):
        rest.unlink()
    run(restore)
    assert (folder / "collector.sqlite").is_file()


@pytest.mark.slow
def test_the_page_on_devices(folder: Path) -> None:
    package, *device, cap, leave = (command[2:] for command in lines("local.md", "python"))
    run(package, module="discreet.devices.package")
    assert (folder / "built" / "discreet-device.pyz").is_file()
    Path("ratings.csv").write_text("item-0007,5\nitem-0042,4.5\n")

    def told(command: list[str], changed: dict[str, str]) -> str:
        return run([changed.get(part, part) for part in command], module="discreet.devices.device")

    with served(["collect", "serve", "--store", "collector.sqlite"]) as port:
        url = f"http://127.0.0.1:{port}"
        terms = shlex.split("--catalogue items.csv --rating-range 1 5 --epsilon 4 --minimum 1")
        run(["collect", "task", "create", url, "films", *terms])
        rate, join, answer, fetch, recommend = device
        changed = {"https://collector.example": url}
        told(rate, changed)
        told(join, changed)
        assert '"answered"' in told(answer, changed)
        run(["collect", "task", "close", url, "films", "1"])
        told(fetch, changed)
    assert told(recommend, changed) == '{"items": []}\n'  # one device tells nobody what is popular
    for command in (cap, leave):
        told(command, changed)
