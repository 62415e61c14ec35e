"""The device in JavaScript keeps its promises as the one in Python does: one answer a round, within what was agreed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from discreet.devices.device import store as stores
from discreet.devices.device.answer import answer
from discreet.devices.device.question import Question, Terms
from discreet.devices.device.store import DeviceStore
from tests.devices.javascript.node import from_digits, in_node, needs_node, rated, run_node
from tests.devices.support.running import IDS, Running

pytestmark = needs_node


class Tape:
    """Bytes that both devices take their pseudonyms and coins from."""

    def __init__(self, data: bytes) -> None:
        self.data, self.used = data, 0

    def take(self, count: int) -> bytes:
        self.used += count
        return self.data[self.used - count : self.used]

    def randbits(self, count: int) -> int:
        return int.from_bytes(self.take(count // 8), "big")


def a_script(rng: random.Random) -> list[dict[str, Any]]:
    """What a careless person and a hostile server might do."""
    tasks = ("films", "songs", "books")
    joined = (Terms(task, 1.0, 6, 9, (1.0, 5.0), "ab" * 32) for task in tasks[:2])
    steps: list[dict[str, Any]] = [{"do": "enrol", "text": one.to_json().encode().hex()} for one in joined]
    for _ in range(40):
        task = rng.choice(tasks)
        kind = rng.choice(("rate", "limit", "enrol", "leave", "sent", *["answer"] * 15))
        if kind == "rate":
            steps.append({"do": kind, "rated": rated({rng.randrange(9): float(rng.randrange(1, 6))})})
        elif kind == "limit":
            steps.append({"do": kind, "epsilon": rng.choice((None, 1.5, 2.5, 4.0, 0.1, 1 / 3))})
        elif kind == "enrol":
            digest = "ab" * 32 if rng.random() < 0.9 else "cd" * 32
            terms = Terms(task, rng.choice((1.0, 1.0, 0.9)), 6, 9, (1.0, 5.0), digest)
            steps.append({"do": kind, "text": terms.to_json().encode().hex()})
        elif kind == "leave":
            steps.append({"do": kind, "task": task})
        elif kind == "sent":
            steps.append({"do": kind, "task": task, "round": rng.randrange(1, 4)})
        else:
            asked = Question(
                task,
                rng.randrange(1, 8),
                rng.choice(("popularity", "offsets")),
                rng.choice((0.1, 0.2, 0.3, 1 / 3, 0.5, 1.0)),
                "ef" * 32,
                4,
                rng.choice((9, 9, 9, 10)),
                0,
                (1.0, 5.0),
                (0, rng.choice((1, 1, 2))),
            )
            steps.append({"do": kind, "text": asked.to_json().encode().hex()})
            if rng.random() < 0.3:
                steps.append(steps[-1])
    steps.append({"do": "transcript"})
    return steps


def a_join(task: str) -> dict[str, Any]:
    return {"do": "enrol", "text": Terms(task, 1.0, 6, 9, (1.0, 5.0), "ab" * 32).to_json().encode().hex()}


def an_answer(task: str, number: int, epsilon: float) -> dict[str, Any]:
    asked = Question(task, number, "offsets", epsilon, "ef" * 32, 4, 9, 0, (1.0, 5.0))
    return {"do": "answer", "text": asked.to_json().encode().hex()}


CAPPED: list[dict[str, Any]] = [
    *(a_join("films"), a_join("songs"), {"do": "limit", "epsilon": 1.25}),
    *(an_answer("films", 1, 0.5), an_answer("songs", 1, 0.5), an_answer("films", 2, 0.5)),
    *(an_answer("films", 2, 0.25), an_answer("songs", 2, 5e-324), an_answer("films", 1, 0.5)),
    {"do": "transcript"},
]
PROMISED: list[dict[str, Any]] = [
    *({"do": "limit", "epsilon": 2.5}, a_join("films"), a_join("songs"), a_join("books"), a_join("films")),
    *(an_answer("films", 1, 0.5), {"do": "leave", "task": "films"}, a_join("books"), a_join("maps")),
    *(an_answer("films", 2, 0.1), {"do": "transcript"}),
]


def in_python(store: DeviceStore, steps: list[dict[str, Any]], tape: Tape) -> list[Any]:
    results: list[Any] = []
    for step in steps:
        try:
            results.append(_step(store, step, tape))
        except ValueError:
            results.append("refused")
    return results


def _step(store: DeviceStore, step: dict[str, Any], tape: Tape) -> Any:
    text = bytes.fromhex(step.get("text", ""))
    if step["do"] == "rate":
        store.rate({item: from_digits(value) for item, value in step["rated"]})
    elif step["do"] == "limit":
        store.set_cap(step["epsilon"])
    elif step["do"] == "enrol":
        return store.enrol(Terms.from_json(text)).hex()
    elif step["do"] == "leave":
        store.leave(step["task"])
    elif step["do"] == "sent":
        seen = [
            (task["task"], one["round"]) for task in store.transcript()["tasks"] for one in task["rounds"]
        ]
        if (step["task"], step["round"]) not in seen:
            raise ValueError("there is no such answer")
        store.mark_sent(step["task"], step["round"])
    elif step["do"] == "answer":
        asked = Question.from_json(text)
        device = store.device(asked.task)
        return list(store.answer(asked, lambda: answer(asked, store.ratings(), device, None, tape.randbits)))
    else:
        return store.transcript()
    return None


def test_the_same_steps_end_in_the_same_transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(8)
    scripts = [
        (steps, rng.randbytes(600)) for steps in (CAPPED, PROMISED, *(a_script(rng) for _ in range(8)))
    ]
    found = in_node(tmp_path, ({"do": "steps", "list": steps, "tape": data.hex()} for steps, data in scripts))
    refused = answered = 0
    for number, ((steps, data), one) in enumerate(zip(scripts, found, strict=True)):
        tape = Tape(data)
        monkeypatch.setattr(stores.secrets, "token_bytes", tape.take)
        with DeviceStore(tmp_path / f"{number}.sqlite") as store:
            mine = in_python(store, steps, tape)
        theirs = [
            "refused" if isinstance(result, dict) and "refused" in result else result
            for result in one["ok"]["results"]
        ]
        for step, here, there in zip(steps, mine, theirs, strict=True):
            assert here == there, (number, step)
        assert one["ok"]["used"] == tape.used
        if steps in (CAPPED, PROMISED):
            assert mine.count("refused") == (2 if steps is CAPPED else 3)
        refused += mine.count("refused")
        answered += sum(isinstance(result, list) and result[0] is not None for result in mine)
    assert refused > 60
    assert answered > 30


WEB = """
import { pathToFileURL } from "node:url";
const js = await import(pathToFileURL(process.argv[2]));
const [url, count] = [process.argv[3], Number(process.argv[4])];
const random = js.randomBytes(64);
if (new Set(random).size < 20 || Math.max(...js.randomBytes(64)) === 0) throw new Error("these are not random");
const devices = Array.from({ length: count }, () => new js.Device(new js.MemoryStore()));
const connection = new js.Connection(url);
const said = [];
for (const device of devices) {
  await device.rate(new Map([[0, 5], [3, 1], [7, 4.5]]));
  await js.join(device, connection, "films", 4);
  said.push((await js.answerRound(device, connection, "films", 0)).result);
}
const again = (await js.answerRound(devices[0], connection, "films", 0)).result;
let refused = "";
try {
  await js.join(new js.Device(new js.MemoryStore()), connection, "films", 3.9);
} catch (error) {
  refused = error.message;
}
const shown = await Promise.all(devices.map((device) => device.transcript()));
process.stdout.write(JSON.stringify({ said, again, refused, shown }));
"""


def test_devices_in_node_answer_a_real_collector(tmp_path: Path) -> None:
    program = tmp_path / "web.mjs"
    program.write_text(WEB)
    with Running(tmp_path / "s.sqlite") as server:
        server.create(minimum=1)
        found = json.loads(run_node(tmp_path, str(program), server.url, "30"))
        kept = server.kept(1)
    said = {
        bytes.fromhex(task["device"]): task["rounds"][0]["bit"]
        for one in found["shown"]
        for task in one["tasks"]
    }
    assert len(said) == 30
    assert {device: bit for device, bit in said.items() if bit is not None} == dict(kept)
    assert set(said.values()) == {None, 0, 1}
    assert found["said"].count("answered") == len(kept)
    assert found["again"] == ("already answered" if found["said"][0] == "answered" else "not asked")
    assert "gives at most 3.9" in found["refused"]
    assert all(one["tasks"][0]["rounds"][0]["asked"]["items"] == len(IDS) for one in found["shown"])
