"""Real devices against a real collector, and against servers that are not to be trusted."""

from __future__ import annotations

import json
import os
import random
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
from discreet.devices.device.client import answer_round, join
from discreet.devices.device.item_side import DeviceItemSide
from discreet.devices.device.question import Question
from discreet.devices.device.store import DeviceStore
from discreet.devices.device.terms import Terms, TermsInvalid
from discreet.devices.device.transport import CollectorRefused, Connection, Unreachable
from tests.devices.support.running import Running

FOLDER = Path(discreet.devices.device.__file__).parent
KILLS = int(os.environ.get("DISCREET_DEVICE_KILLS", "30"))


def test_devices_answer_join_and_recommend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("0,5\n3,1\n7,4.5\n")
    with Running(tmp_path / "s.sqlite") as server:
        server.create(minimum=1)
        files = [str(tmp_path / f"device-{number}.sqlite") for number in range(16)]
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
            assert all(0 < result["bytes_sent"] < 600 for result in answered)
            assert server.close(number)[0] == 200
        assert main(["--file", files[0], "fetch", server.url, "films", "2"]) == 0
        capsys.readouterr()
        assert main(["--file", files[0], "recommend", "films", "-n", "5"]) == 0
        best = [row["item"] for row in json.loads(capsys.readouterr().out)["items"]]
        assert len(best) == 5
        assert not {0, 3, 7} & set(best)
        assert main(["--file", files[0], "status"]) == 0
        assert json.loads(capsys.readouterr().out)["tasks"]["films"] == {
            "spent": pytest.approx(4.0),
            "agreed": 4.0,
        }
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


def test_only_this_machine_is_reached_without_encryption(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only https"):
        Connection("http://192.0.2.1:80")
    with pytest.raises(ValueError, match="not the address"):
        Connection("ftp://127.0.0.1")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with (
            Connection(f"http://127.0.0.1:{nobody.getsockname()[1]}", seconds=1.0) as wire,
            pytest.raises(Unreachable),
        ):
            wire.get("/")


class _Spy(ThreadingHTTPServer):
    """A server that asks what it likes, answers late, and writes down every bit it ever sees."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SpyHandler)
        self.terms = Terms("films", 2.0, 1000, 50, (1.0, 5.0))
        self.question = Question("films", 1, "popularity", 0.001, "ab" * 32, 16, 50, 0, (1.0, 5.0))
        self.released = DeviceItemSide(1, 50)
        self.seen: dict[int, list[int]] = defaultdict(list)
        self.finished: set[int] = set()
        self.delay = 0.0
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
            self._reply(self.server.released.to_bytes())
            return
        question = self.path.endswith("question")
        self.server.asked_at = time.monotonic()
        self._reply((self.server.question if question else self.server.terms).to_json().encode())

    def do_POST(self) -> None:
        report = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.heard_at = time.monotonic()
        self.server.seen[report["round"]].append(report["bit"])
        time.sleep(self.server.delay)
        self._reply(b"{}")
        self.server.finished.add(report["round"])

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


DEVICE = """
import sys
sys.path.insert(0, sys.argv[1])
from device.store import DeviceStore
from device.client import answer_round
from device.transport import Connection
print("ready", flush=True)
sys.stdin.readline()
with DeviceStore(sys.argv[2]) as store, Connection(sys.argv[3]) as connection:
    print(answer_round(store, connection, "films", 0.0).result, flush=True)
"""


@pytest.mark.timeout(120 + 4 * KILLS)
def test_a_device_killed_at_any_moment_never_sends_a_second_coin(tmp_path: Path, spy: _Spy) -> None:
    """The device has no ratings, so a second draw for a round would differ every other time."""
    file = tmp_path / "me.sqlite"
    with DeviceStore(file) as store, Connection(spy.url) as connection:
        join(store, connection, "films", 2.0)
    spy.delay = 0.01
    killed = rounds = repeated = 0
    while killed < KILLS:
        rounds += 1
        spy.question = Question("films", rounds, "popularity", 0.001, "ab" * 32, 16, 50, 0, (1.0, 5.0))
        for attempt in range(4):
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", DEVICE, str(FOLDER.parent), str(file), spy.url],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            process.stdin.write("\n")
            process.stdin.flush()
            if attempt < 3:
                time.sleep(random.uniform(0.0, 0.05))
                if process.poll() is None:
                    os.kill(process.pid, signal.SIGKILL)
                    killed += 1
            process.communicate(timeout=60)
        with DeviceStore(file) as store:
            stored = store.answer(spy.question, lambda: pytest.fail("the answer was lost"))
            assert stored.sent
            assert store.spent("films") == rounds * Fraction(0.001)
        assert set(spy.seen[rounds]) == {stored.bit}
        repeated += len(spy.seen[rounds]) > 1
    assert repeated > 0, "no kill fell between sending and hearing the answer"


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
            spy.question = Question.from_fields(fields)
            with pytest.raises((TermsInvalid, ValueError)):
                answer_round(store, connection, "films", 0.0)
        assert spy.seen == {1: [store.answer(asked, lambda: pytest.fail("drawn again")).bit]}
        spy.terms = Terms("films", 2.5, 1000, 50, (1.0, 5.0))
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


@pytest.mark.parametrize("pace", ["-1", "-1e-300", "nan", "inf", "-inf"])
def test_a_pace_that_is_no_time_is_refused_before_anything_is_drawn(
    tmp_path: Path, spy: _Spy, capsys: pytest.CaptureFixture[str], pace: str
) -> None:
    file = str(tmp_path / "me.sqlite")
    with DeviceStore(file) as store, Connection(spy.url) as connection:
        join(store, connection, "films", 2.0)
        with pytest.raises(ValueError, match="pace"):
            answer_round(store, connection, "films", float(pace))
        assert main(["--file", file, "answer", spy.url, "films", f"--pace={pace}"]) == 2
        assert store.spent("films") == 0
    said = capsys.readouterr().err
    assert "pace" in said
    assert said.count("\n") == 1
    assert not spy.seen


@pytest.mark.parametrize("row", ["3," + "1" * 131_073, "3,five", "3", "3,4,5"])
def test_a_row_that_is_no_rating_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str
) -> None:
    ratings, file = tmp_path / "ratings.csv", str(tmp_path / "me.sqlite")
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


def test_refusals_reach_the_device(tmp_path: Path) -> None:
    with (
        Running(tmp_path / "s.sqlite") as server,
        Connection(server.url) as connection,
        DeviceStore(tmp_path / "me.sqlite") as store,
        pytest.raises(CollectorRefused, match="no such task"),
    ):
        join(store, connection, "films", 1.0)
