"""Real devices against a real collector, and against servers that are not to be trusted."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import discreet.devices.device
from discreet.devices.device import client
from discreet.devices.device.__main__ import main
from discreet.devices.device.client import Connection, Unreachable, answer_round, join
from discreet.devices.device.question import Question, Terms, TermsInvalid
from discreet.devices.device.store import DeviceStore
from discreet.devices.learner import Learner
from tests.devices.support.running import IDS, PATIENCE, Running, all_like
from tests.sizes import sized

FOLDER = Path(discreet.devices.device.__file__).parent
DIGEST = "cd" * 32
KILLS = sized(20, 400)


def test_devices_answer_join_and_recommend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("0,5\n3,1\n7,4.5\n")
    with Running(tmp_path / "s.sqlite") as server:
        server.create(minimum=1)
        files = [str(tmp_path / f"device-{number}.sqlite") for number in range(6)]
        for file in files:
            assert main(["--file", file, "rate", str(ratings)]) == 0
            assert main(["--file", file, "join", server.url, "films", "--epsilon", "4"]) == 0
        for number in (1, 2):
            results = []
            for file in files:
                capsys.readouterr()
                assert main(["--file", file, "answer", server.url, "films", "--pace", "0"]) == 0
                results.append(json.loads(capsys.readouterr().out))
            assert {result["result"] for result in results} <= {"answered", "not asked"}
            answered = [result for result in results if result["result"] == "answered"]
            assert len(server.kept(number)) == len(answered)
            if number == 1:
                all_like(server, 12)
            assert server.close(number)[0] == 200
        assert main(["--file", files[0], "fetch", server.url, "films", "2"]) == 0
        capsys.readouterr()
        assert main(["--file", files[0], "recommend", "films", "-n", "5"]) == 0
        best = [row["item"] for row in json.loads(capsys.readouterr().out)["items"]]
        assert len(best) == 5
        assert not {0, 3, 7} & set(best)
        assert main(["--file", files[0], "transcript"]) == 0
        (task,) = json.loads(capsys.readouterr().out)["tasks"]
        assert (task["spent"], task["agreed"]) == (pytest.approx(4.0), 4.0)
        assert main(["--file", files[0], "answer", server.url, "films", "--pace", "0"]) == 0
        assert json.loads(capsys.readouterr().out)["result"] == "task has ended"


def test_a_device_gives_no_more_than_it_is_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        server.create()
        file = str(tmp_path / "me.sqlite")
        assert main(["--file", file, "join", server.url, "films", "--epsilon", "3.9"]) == 2
        assert "at most 3.9" in capsys.readouterr().err
        assert main(["--file", file, "answer", server.url, "films", "--pace", "0"]) == 2
        assert "has not joined" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_a_device_with_the_item_list_speaks_of_ids_and_joins_no_task_about_another_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    right, wrong = tmp_path / f"right.{kind}", tmp_path / f"wrong.{kind}"
    ids = IDS
    for file, listed in ((right, ids), (wrong, [ids[1], ids[0], *ids[2:]])):
        lines = [*(["item"] if kind == "csv" else []), *listed]
        file.write_text(json.dumps(listed) if kind == "json" else "\n".join(lines) + "\n")
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("film-0,5\nfilm-7,1\n")
    me, other = str(tmp_path / "me.sqlite"), str(tmp_path / "other.sqlite")
    with Running(tmp_path / "s.sqlite") as server:
        server.create()
        for file in (me, other):
            listed = right if file == me else wrong
            assert main(["--file", file, "rate", str(ratings), "--catalogue", str(listed)]) == 0
        with DeviceStore(me) as store, DeviceStore(other) as second:
            assert store.ratings() == {0: 5.0, 7: 1.0}
            assert second.ratings() == {1: 5.0, 7: 1.0}
        capsys.readouterr()
        assert main(["--file", other, "join", server.url, "films", "--epsilon", "4"]) == 2
        assert "another item list" in capsys.readouterr().err
        joining = ["join", server.url, "films", "--epsilon", "4"]
        assert main(["--file", me, *joining, "--catalogue", str(wrong)]) == 2
        assert main(["--file", me, *joining, "--catalogue", str(right)]) == 0
        all_like(server, 12)
        assert server.close()[0] == 200
        assert main(["--file", me, "fetch", server.url, "films", "1"]) == 0
        capsys.readouterr()
        assert main(["--file", me, "recommend", "films", "--catalogue", str(right)]) == 0
        best = [row["item"] for row in json.loads(capsys.readouterr().out)["items"]]
        assert best[0] == "film-12"
        assert len(set(best) & set(ids)) == 10
        assert not {"film-0", "film-7"} & set(best)
        assert main(["--file", me, "recommend", "films", "--catalogue", str(wrong)]) == 2
        (tmp_path / "more.csv").write_text("film-99,5\n")
        assert main(["--file", me, "rate", str(tmp_path / "more.csv"), "--catalogue", str(right)]) == 2
        assert "'film-99' is not in the list" in capsys.readouterr().err


def test_only_this_machine_is_reached_without_encryption(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only https"):
        Connection("http://192.0.2.1:80")
    with pytest.raises(ValueError, match="not the address"):
        Connection("ftp://127.0.0.1")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        with (
            Connection(f"http://127.0.0.1:{silent.getsockname()[1]}", seconds=1.0) as wire,
            pytest.raises(Unreachable),
        ):
            wire.get("/")


class _Spy(ThreadingHTTPServer):
    """A server that asks what it likes, answers late, and writes down every bit it ever sees."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SpyHandler)
        self.terms = Terms("films", 2.0, 1000, 50, (1.0, 5.0), DIGEST)
        self.question = Question("films", 1, "popularity", 0.001, "ab" * 32, 16, 50, 0, (1.0, 5.0))
        self.released = Learner("films", 50, (1.0, 5.0), 2.0, "ab" * 32).released()
        self.seen: dict[int, list[int]] = defaultdict(list)
        self.victim: int | None = (
            None  # process to kill as soon as its report is heard, before it is answered
        )
        self.asked_at = self.heard_at = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients are killed in the middle of a request here."""


class _SpyHandler(BaseHTTPRequestHandler):
    server: _Spy

    def do_GET(self) -> None:
        if "/released/" in self.path:
            self._reply(self.server.released)
            return
        question = self.path.endswith("question")
        self.server.asked_at = time.monotonic()
        self._reply((self.server.question if question else self.server.terms).to_json().encode())

    def do_POST(self) -> None:
        report = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.heard_at = time.monotonic()
        self.server.seen[report["round"]].append(report["bit"])
        if self.server.victim is not None:
            os.kill(self.server.victim, signal.SIGKILL)
        self._reply(b"{}")

    def log_message(self, *_: object) -> None:
        pass

    def _reply(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def spy() -> Iterator[_Spy]:
    with _Spy() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


# Ends itself at a given line of the device's own code, and without one says how many there were.
DEVICE = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from device.client import Connection, answer_round
from device.store import DeviceStore

lines, last = 0, int(sys.argv[4])


def count(frame, event, argument):
    global lines
    if not frame.f_code.co_filename.startswith(sys.argv[1]):
        return None
    if event == "line":
        lines += 1
        if lines == last:
            os.kill(os.getpid(), signal.SIGKILL)
    return count


print("ready", flush=True)
sys.stdin.readline()
sys.settrace(count)
with DeviceStore(sys.argv[2]) as store, Connection(sys.argv[3]) as connection:
    result = answer_round(store, connection, "films", 0.0).result
sys.settrace(None)
print(lines, result)
"""


def _run_device(file: Path, spy: _Spy, last: int = 0, *, kill_at_report: bool = False) -> tuple[int, str]:
    """A device in a process of its own: its exit status, and what it said."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", DEVICE, str(FOLDER.parent), str(file), spy.url, str(last)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    spy.victim = process.pid if kill_at_report else None
    said, _ = process.communicate("\n", timeout=PATIENCE)
    spy.victim = None
    return process.returncode, said


@pytest.mark.timeout(300 + 10 * KILLS)
def test_a_device_killed_at_any_moment_never_sends_a_second_coin(tmp_path: Path, spy: _Spy) -> None:
    """The device has no ratings, so a second draw for a round would differ every other time.

    In every round it is killed at another line of its own code, from the first to the last, and then again between
    sending its report and hearing the answer, by the server itself. No clock decides which.
    """
    file = tmp_path / "me.sqlite"
    with DeviceStore(file) as store, Connection(spy.url) as connection:
        join(store, connection, "films", 2.0)

    def ask(number: int) -> None:
        spy.question = Question("films", number, "popularity", 0.001, "ab" * 32, 16, 50, 0, (1.0, 5.0))

    ask(1)
    status, said = _run_device(file, spy)
    assert status == 0
    total, result = said.split(maxsplit=1)
    assert result == "answered\n"
    rounds = max(2, KILLS // 2)
    bits, died = {}, 0
    for step in range(rounds):
        ask(step + 2)
        status, _ = _run_device(file, spy, 1 + step * (int(total) - 1) // (rounds - 1))
        assert status == -signal.SIGKILL
        died += _run_device(file, spy, kill_at_report=True)[0] == -signal.SIGKILL
        status, said = _run_device(file, spy)
        assert status == 0
        assert said.split(maxsplit=1)[1] in ("answered\n", "already answered\n")
        with DeviceStore(file) as store:
            stored = store.answer(spy.question, lambda: pytest.fail("the answer was lost"))
            assert stored.sent
            assert store.spent("films") == (step + 2) * Fraction(0.001)
        bits[step + 2] = stored.bit
    assert {number: set(seen) for number, seen in spy.seen.items() if number > 1} == {
        number: {bit} for number, bit in bits.items()
    }
    assert died >= rounds // 2, "too few kills fell between sending and hearing the answer"
    assert len(spy.seen[2]) == 2  # killed at its first line, then after sending, then through: sent twice


def test_a_server_cannot_ask_twice_or_for_more(tmp_path: Path, spy: _Spy) -> None:
    asked = Question("films", 1, "popularity", 1.5, "ab" * 32, 16, 50, 0, (1.0, 5.0))
    spy.question = asked
    with DeviceStore(tmp_path / "me.sqlite") as store, Connection(spy.url) as connection:
        join(store, connection, "films", 2.0)
        assert answer_round(store, connection, "films", 0.0).result == "answered"
        assert answer_round(store, connection, "films", 0.0).result == "already answered"
        for change in (
            {"seed": "cd" * 32},
            {"round": 2},
            {"round": 2, "epsilon": 0.4, "items": 40},
            {"task": "songs"},
        ):
            fields = {**json.loads(asked.to_json()), **change}
            spy.question = Question.from_json(json.dumps(fields))
            with pytest.raises((TermsInvalid, ValueError)):
                answer_round(store, connection, "films", 0.0)
        assert spy.seen == {1: [store.answer(asked, lambda: pytest.fail("drawn again")).bit]}
        spy.terms = Terms("films", 2.5, 1000, 50, (1.0, 5.0), DIGEST)
        with pytest.raises(TermsInvalid):
            join(store, connection, "films", 10.0)


@pytest.mark.parametrize(("work", "steps"), [(0.0, 1), (0.25, 2)])
def test_when_an_answer_leaves_does_not_tell_how_long_it_took(
    tmp_path: Path, spy: _Spy, monkeypatch: pytest.MonkeyPatch, work: float, steps: int
) -> None:
    def slowly(*_: object) -> int:
        time.sleep(work)
        return 1

    monkeypatch.setattr(client, "answer", slowly)
    with DeviceStore(tmp_path / "me.sqlite") as store, Connection(spy.url) as connection:
        join(store, connection, "films", 2.0)
        cost = answer_round(store, connection, "films", 0.2)
    assert spy.heard_at - spy.asked_at >= 0.2 * steps
    assert cost.compute_ms >= 1000.0 * work


def test_a_pace_that_is_no_time_is_refused_before_anything_is_drawn(
    tmp_path: Path, spy: _Spy, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "me.sqlite")
    with DeviceStore(file) as store, Connection(spy.url) as connection:
        join(store, connection, "films", 2.0)
        for pace in ("-1e-300", "nan", "inf"):
            with pytest.raises(ValueError, match="pace"):
                answer_round(store, connection, "films", float(pace))
        assert main(["--file", file, "answer", spy.url, "films", f"--pace={pace}"]) == 2
        assert store.spent("films") == 0
    assert "pace" in capsys.readouterr().err
    assert not spy.seen


def test_a_row_that_is_no_rating_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratings, file = tmp_path / "ratings.csv", str(tmp_path / "me.sqlite")
    for row in ("3," + "1" * 131_073, "3,five", "3,4,5"):
        ratings.write_text(f"0,5\n{row}\n")
        assert main(["--file", file, "rate", str(ratings)]) == 2
        said = capsys.readouterr().err
        assert f"{ratings}, line 2: " in said
        assert said.count("\n") == 1
    with DeviceStore(file) as store:
        assert store.ratings() == {}


def test_a_question_about_factors_without_an_item_side_of_its_size_costs_nothing(
    tmp_path: Path, spy: _Spy
) -> None:
    with DeviceStore(tmp_path / "me.sqlite") as store, Connection(spy.url) as connection:
        join(store, connection, "films", 2.0)
        for number in (1, 2):
            spy.question = Question("films", number, "factors", 0.1, "ab" * 32, 16, 50, 2, (1.0, 5.0))
            with pytest.raises(ValueError, match="item side"):
                answer_round(store, connection, "films", 0.0)
        assert store.spent("films") == 0
    assert not spy.seen
