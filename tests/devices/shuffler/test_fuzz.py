"""Envelopes spoilt in every way are answered with a 4xx, and nothing of them is kept.

``DISCREET_FUZZ`` sets how many requests are made.
"""

from __future__ import annotations

import collections
import json
import os
import random
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

from discreet.devices.device.shuffled import Shuffled, envelope
from tests.devices.support.running import PATIENCE, Running, asked_devices, wait_until
from tests.devices.support.shuffling import Shuffling, start_task

pytest.importorskip("cryptography.hazmat.primitives.hpke")

REQUESTS = min(int(os.environ.get("DISCREET_FUZZ", "600")), 20_000)
SEED = int(os.environ.get("DISCREET_FUZZ_SEED", "7"))
ODD: list[Any] = [None, True, -1, 0, 2, 1.5, 1 << 64, "", "x", "\x00", "é", "a" * 300, [], {}, "1"]


def spoilt(good: dict[str, Any], pick: random.Random) -> bytes:
    """The same with one thing wrong: a field, a digit of the envelope, its length, or the JSON itself."""
    content = dict(good)
    kind = pick.randrange(6)
    text = content["envelope"]
    place = pick.randrange(len(text))
    if kind == 0:  # the smallest change there is: the seal must notice
        content["envelope"] = (
            text[:place] + format(int(text[place], 16) ^ 1 << pick.randrange(4), "x") + text[place + 1 :]
        )
    elif kind == 1:
        content["envelope"] = pick.choice(
            [text[:place], text + "00", text.upper() + " ", pick.randbytes(len(text) // 2).hex()]
        )
    elif kind == 2:
        content[pick.choice([*content, "more"])] = pick.choice(ODD)
        if content == good:
            content["more"] = 1
    elif kind == 3:
        del content[pick.choice(list(content))]
    elif kind == 4:
        return json.dumps(content).encode()[: pick.randrange(1, 200)]
    else:
        return pick.choice(
            [b"[" * 3000, b"\xff\xfe" * 20, b'{"task":' + b"9" * 4000 + b"}", b"", b"x" * 20_000]
        )
    return json.dumps(content).encode()


@pytest.mark.timeout(300 + REQUESTS // 10)
def test_spoilt_envelopes_are_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    pick = random.Random(SEED)
    with Running(tmp_path / "s.sqlite") as collector, Shuffling(tmp_path, collector, batch=50) as shuffler:
        key = start_task(collector)
        shuffler.wait_for(1)
        question = collector.question()
        offer = json.loads(shuffler.ask("GET", "/v1/tasks/films/shuffle")[1])
        keys = Shuffled(bytes.fromhex(key), bytes.fromhex(offer["shuffler_key"]), pick.randbytes(32))
        good = envelope(keys, question, next(iter(asked_devices(question))), 1)
        seen: collections.Counter[int] = collections.Counter()
        wire = HTTPConnection("127.0.0.1", shuffler.port, timeout=PATIENCE)
        for _ in range(REQUESTS):
            body = spoilt(good, pick)
            try:
                wire.request("POST", "/v1/reports", body, {"content-type": "application/json"})
                response = wire.getresponse()
                response.read()
                status = response.status
            except (OSError, HTTPException):  # hung up on what is too large
                wire.close()
                continue
            assert 400 <= status < 500, (status, body)
            seen[status] += 1
        wire.close()
        assert seen[422] > REQUESTS // 2
        assert shuffler.process.is_alive()
        assert shuffler.rows("SELECT count(*) FROM reports") == [(0,)]
        assert shuffler.ask("POST", "/v1/reports", good)[0] == 200  # what was spoilt is good otherwise
        wait_until(lambda: shuffler.rows("SELECT count(*) FROM reports") == [(1,)])
        assert collector.kept() == {}
