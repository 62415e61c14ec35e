"""The page that shows what a device said: in words, in one file, with nothing from elsewhere; in a real browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from discreet.devices.device.__main__ import main
from discreet.devices.device.question import Question
from discreet.devices.device.store import DeviceStore
from discreet.devices.device.terms import Terms
from discreet.devices.device.transcript import MODULE, page, page_file, transcript
from discreet.devices.package import write_page
from tests.devices.javascript.node import in_node, needs_node
from tests.devices.support.running import PATIENCE

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="Chromium is not installed, so the page is not opened"
)
TERMS = Terms("films", 4.0, 9, 500, (1.0, 5.0), "ab" * 32)
ASKED = Question("films", 1, "popularity", 2.0, "ab" * 32, 16, 500, 0, (1.0, 5.0))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "me.sqlite"
    with DeviceStore(path) as store:
        store.rate({3: 5.0, 4: 1.0})
        store.enrol(TERMS)
        store.enrol(replace(TERMS, task="songs"))
        store.answer(ASKED, lambda: 1)
        store.mark_sent("films", 1)
        store.answer(replace(ASKED, round=2, kind="offsets", epsilon=1.0), lambda: 0)
        asked = replace(ASKED, task="songs", participants=(0, 1 << 20))
        number = next(
            n
            for n in range(1 << 20)
            if not replace(asked, participants=(n, 1 << 20)).takes_part(store.device("songs"))
        )
        store.answer(replace(asked, participants=(number, 1 << 20)), lambda: 1)
        store.set_cap(3.5)
    return path


def shown(path: Path) -> dict[str, Any]:
    with DeviceStore(path) as store:
        return transcript(store)


@needs_node
def test_a_transcript_in_words(file: Path, tmp_path: Path) -> None:
    found = shown(file)
    free = found | {"cap": None}
    fits = found | {"cap": 4.0}
    nothing = {"ratings": 0, "cap": 1.0, "spent": 0.0, "tasks": []}
    words, uncapped, within, empty = (
        one["ok"]
        for one in in_node(
            tmp_path, ({"do": "explain", "transcript": t} for t in (found, free, fits, nothing))
        )
    )
    assert words["total"] == "spent 3 of a cap of 3.5 over all tasks"
    assert words["capReached"]  # 0.5 is left, and no answer was as cheap
    assert uncapped["total"] == "spent 3, no cap over all tasks"
    assert not uncapped["capReached"]
    assert not within["capReached"]
    assert empty == {"total": "spent 0 of a cap of 1 over all tasks", "capReached": False, "tasks": []}
    films, songs = words["tasks"]
    assert (films["name"], films["total"], films["share"]) == ("films", "spent 3 of 4 agreed", 0.75)
    assert films["answers"] == [
        {
            "round": 1,
            "asked": "which of 500 items you have rated",
            "bit": "1",
            "untrue": "11.9 %",
            "cost": "2",
            "sent": "sent",
        },
        {
            "round": 2,
            "asked": "how you rated 500 items, against your own mean",
            "bit": "0",
            "untrue": "26.9 %",
            "cost": "1",
            "sent": "not sent yet",
        },
    ]
    assert [answer["bit"] for answer in songs["answers"]] == ["not asked"]


def test_the_page_needs_nothing_from_elsewhere(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert main(["--file", str(file), "page", str(out)]) == 0
    text = out.read_text()
    for one in (text, page_file(MODULE), page_file("page.html")):
        assert not re.findall(r"https?://\w", one)
        assert not re.findall(
            r"\b(?:Math\.random|eval|innerHTML|document\.write)\b\(?", one.replace("Math.random is", "")
        )
    assert "import {" not in text
    assert "default-src 'none'" in text
    assert (
        "connect-src" not in text.split("<style>")[0].split("content=")[2]
    )  # nothing is allowed beyond the default
    assert (out.stat().st_mode & 0o077) == 0


def test_what_a_server_says_cannot_get_into_the_page() -> None:
    hostile = {"tasks": "</script><script>alert(1)</script><!--"}
    text = page(hostile)
    assert "alert(1)</script>" not in text
    kept = re.search(r'id="transcript">(.*?)</script>', text, re.DOTALL)
    assert kept is not None
    assert json.loads(kept[1]) == hostile


def browser(folder: Path) -> list[str]:
    return [
        str(BROWSER),
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
        f"--user-data-dir={folder / 'profile'}",
    ]


def browse(folder: Path, text: str) -> str:
    """The page as it stands after its scripts have run, without its scripts."""
    file = folder / "opened.html"
    file.write_text(text, encoding="utf-8")
    command = [*browser(folder), "--virtual-time-budget=20000", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return html.unescape(re.sub(r"<script.*?</script>", "", done.stdout, flags=re.DOTALL))


@needs_browser
def test_the_page_in_a_browser(file: Path, tmp_path: Path) -> None:
    text = browse(tmp_path, page(shown(file)))
    assert "In all spent 3 of a cap of 3.5 over all tasks, from 2 ratings that stayed here." in text
    assert 'id="reached">' in text  # not hidden
    assert "Task films: spent 3 of 4 agreed" in text
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", text)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    assert ["1", "which of 500 items you have rated", "1", "11.9 %", "2", "sent"] in cells
    assert ["1", "which of 500 items you have rated", "not asked", "", "0", ""] in cells


STEPS = """<!doctype html><title>steps</title><body><script type="module">
import * as discreet from "/discreet-device.js";
const out = {};
const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
try {
  const [terms, asked] = await Promise.all(["/terms", "/question"].map(async (path) => (await fetch(path)).text()));
  const question = discreet.Question.fromJson(asked);
  const tabs = await Promise.all(Array.from({ length: 8 }, () => discreet.BrowserStore.open()));
  const devices = tabs.map((store) => new discreet.Device(store));
  await devices[0].rate(new Map([[3, 5], [4, 1]]));
  const agreed = discreet.Terms.fromJson(terms);
  out.names = (await Promise.all(devices.map((device) => device.enrol(agreed)))).map(discreet.toHex);
  out.bits = (await Promise.all(devices.map((device) => device.answer(question)))).map(({ bit }) => bit);
  try {
    await devices[1].answer(new discreet.Question({ ...question, round: 2, epsilon: 3.9 }));
  } catch (error) {
    out.refused = error.message;
  }
  out.transcript = await new discreet.Device(await discreet.BrowserStore.open()).transcript();
  const frame = document.createElement("iframe");
  frame.src = "/page.html";
  document.body.append(frame);
  while (!frame.contentDocument?.getElementById("tasks")?.firstChild) await later(20);
  out.page = frame.contentDocument.body.innerText;
} catch (error) {
  out.failed = String(error.stack);
}
await fetch("/result", { method: "POST", body: JSON.stringify(out) });
</script></body>"""


class Site(ThreadingHTTPServer):
    """The package's page and module as somebody would serve them, and what the browser reports."""

    def __init__(self, files: dict[str, tuple[str, str]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.result = files, SimpleQueue[bytes]()


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        kind, text = self.server.files.get(self.path, ("text/plain", ""))
        self.send_response(200 if text else 404)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self) -> None:
        self.server.result.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@needs_browser
def test_eight_tabs_of_a_browser_draw_one_answer_and_the_page_shows_it(tmp_path: Path) -> None:
    write_page(tmp_path)
    site = Site(
        {
            "/": ("text/html", STEPS),
            "/page.html": ("text/html", (tmp_path / "page.html").read_text()),
            f"/{MODULE}": ("text/javascript", (tmp_path / MODULE).read_text()),
            "/terms": ("application/json", TERMS.to_json()),
            "/question": ("application/json", ASKED.to_json()),
        }
    )
    threading.Thread(target=site.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{site.server_port}/"
    with subprocess.Popen(
        [*browser(tmp_path), "--remote-debugging-port=0", address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as opened:
        try:
            found = json.loads(site.result.get(timeout=PATIENCE))
        finally:
            opened.terminate()
            site.shutdown()
            site.server_close()
    assert "failed" not in found, found
    assert len(found["names"]) == 8
    assert len(set(found["names"])) == 1
    assert len(set(found["bits"])) == 1
    assert found["bits"][0] in (0, 1)
    assert "the agreed are left" in found["refused"]
    (task,) = found["transcript"]["tasks"]
    assert (found["transcript"]["spent"], found["transcript"]["ratings"]) == (2.0, 2)
    assert [(one["round"], one["bit"]) for one in task["rounds"]] == [(1, found["bits"][0])]
    assert "Task films: spent 2 of 4 agreed" in found["page"]
    assert "In all spent 2, no cap over all tasks, from 2 ratings that stayed here." in found["page"]
