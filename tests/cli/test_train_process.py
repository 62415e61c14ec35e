"""Training as a process of its own: Ctrl-C in the middle, a full disk, a bar on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.model import Model

COMMAND = [sys.executable, "-m", "discreet"]
IN_THE_MIDDLE = rb"\s[1-9]\d*/\d{3}"  # some rounds of a hundred or more are done


def train_arguments(shop: Path, out: Path, method: str, rounds: int) -> list[str]:
    private = ["--catalogue", str(shop / "items.csv"), "--epsilon", "5", "--delta", "1e-4"]
    return [
        *("train", str(shop / "train.csv"), "--user", "user", "--item", "item"),
        *("--rating", "stars", "--rating-range", "1", "5", "--method", method),
        *([] if method == "als" else private),
        *("--goal", "rate", "--rank", "8", "--rounds", str(rounds), "--out", str(out), "--json"),
    ]


def read_terminal(terminal: int, until: bytes | None = None) -> bytes:
    """What a process shows on its terminal, up to a pattern or to its end."""
    shown = b""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and (until is None or re.search(until, shown) is None):
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux: the other end was closed
            break
        if not part:
            break
        shown += part
    return shown


@contextlib.contextmanager
def on_a_terminal(arguments: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process whose stderr is a terminal and whose stdout is a pipe."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=theirs, env=environment)
    os.close(theirs)
    try:
        yield process, ours
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        os.close(ours)


def test_ctrl_c_in_the_middle_leaves_nothing(shop: Path, tmp_path: Path) -> None:
    with on_a_terminal(train_arguments(shop, tmp_path / "model", "budgeted", 1000)) as (process, terminal):
        started = read_terminal(terminal, until=IN_THE_MIDDLE)
        assert re.search(IN_THE_MIDDLE, started), started
        process.send_signal(signal.SIGINT)
        shown = read_terminal(terminal)
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.wait(240) == 130
    assert b"Interrupted; no model was written." in shown
    assert b"Traceback" not in shown
    assert list(tmp_path.iterdir()) == []


def test_a_bar_on_a_terminal_and_one_object_on_stdout(shop: Path, tmp_path: Path) -> None:
    with on_a_terminal(train_arguments(shop, tmp_path / "model", "als", 3)) as (process, terminal):
        shown = read_terminal(terminal)
        assert process.stdout is not None
        content = json.loads(process.stdout.read())
        assert process.wait(240) == 0
    assert b"3/3" in shown
    assert content["method"] == "als"


def limited(size: int) -> None:
    """Files of this process cannot grow beyond ``size`` bytes, as on a disk that is full by then."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_file_that_cannot_grow_leaves_no_model(shop: Path, tmp_path: Path) -> None:
    arguments = train_arguments(shop, tmp_path / "model", "als", 2)
    warm = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, timeout=240
    )  # compiled kernels are cached now
    assert warm.returncode == 0
    before = Model.load(tmp_path / "model").item_side.factors.tolist()
    done = subprocess.run(
        [*COMMAND, *arguments, "--force"],
        capture_output=True,
        text=True,
        timeout=240,
        preexec_fn=lambda: limited(1024),
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert Model.load(tmp_path / "model").item_side.factors.tolist() == before


@pytest.mark.slow
def test_a_default_run_loads_what_it_needs(shop: Path, tmp_path: Path) -> None:
    """Lines of all files of ours that are loaded; nothing of other methods, ledgers, checkpoints or silos."""
    private = ["--catalogue", str(shop / "items.csv"), "--epsilon", "5", "--delta", "1e-4"]
    asked = ["train", str(shop / "train.csv"), "--user", "user", "--item", "item", *private]
    code = (
        "import sys\nfrom discreet.cli import main\n"
        f"main({[*asked, '--out', str(tmp_path / 'model'), '--json']!r}, standalone_mode=False)\n"
        "ours = {name: module.__file__ for name, module in sys.modules.items() if name.startswith('discreet')}\n"
        "print(sum(len(open(file).readlines()) for file in ours.values() if file), *ours, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines, *modules = done.stderr.split()
    assert int(lines) <= 16_000
    rooms = (
        "methods.budgeted",
        "methods.published",
        "methods.als",
        "methods.checkpoint",
        "evaluation",
        "devices",
    )
    assert not [name for name in modules if name.startswith(tuple(f"discreet.{room}" for room in rooms))]
