"""Malformed, oversized, replayed, late and wrong messages by the thousand: refused, nothing changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from discreet.errors import Refused
from discreet.silos.shared.messages import QuestionMessage
from tests.silos.worlds import Run, agree, asked, dump, world
from tests.sizes import sized

COUNT = sized(2_400, 100_000)
RATINGS = world(users=200, items=20)
Body = bytes


def flip(draw: Random, body: Body) -> Body:
    changed = bytearray(body)
    for _ in range(draw.choice((1, 1, 2, 8, 64))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def flip_header(draw: Random, body: Body) -> Body:
    changed = bytearray(body)
    end = 8 + int.from_bytes(body[4:8], "little")
    changed[draw.randrange(end)] = draw.randrange(256)
    return bytes(changed)


def cut(draw: Random, body: Body) -> Body:
    return body[: draw.randrange(len(body))]


def lengthen(draw: Random, body: Body) -> Body:
    return body + draw.randbytes(draw.choice((1, 7, 8, 64, 1000)))


def lie(draw: Random, body: Body) -> Body:
    """A header that is JSON but says something else."""
    end = 8 + int.from_bytes(body[4:8], "little")
    header = json.loads(body[8:end])
    key = draw.choice(list(header))
    values = (None, -1, 0, 1, 2**63, 10**30, 1e308, True, "", "x" * 70, [], {}, [[]], "é", "0" * 64)
    strange = (
        *values,
        [["masked", [2**39, 2]]],
        [["masked", [0, 2**39, 2**39]]],
        [["masked", [-1]]],
        [["a", [1]]] * 17,
        [["a", [0]], ["a", [0]]],
    )
    if draw.random() < 0.2:
        header.pop(key)
    elif draw.random() < 0.2:
        header["extra"] = draw.choice(strange)
    else:
        header[key] = draw.choice(strange)
    text = json.dumps(header).encode()
    return body[:4] + len(text).to_bytes(4, "little") + text + body[end:]


def deep(draw: Random, body: Body) -> Body:
    text = draw.choice((b"[", b'{"a":', b'"', b"1")) * draw.choice((10, 1000, 20_000))
    return body[:4] + len(text).to_bytes(4, "little") + text


MANGLES: list[Callable[[Random, Body], Body]] = [
    flip,
    flip_header,
    cut,
    lengthen,
    lie,
    deep,
]


@pytest.fixture(params=["under way", "over"])
def run(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Run]:
    made = Run(tmp_path, RATINGS, agree(RATINGS, 4, honest=3), fixed=False)
    for _ in range(2):
        made.step()
    if request.param == "over":
        made.finish()
    else:
        made.step(leave_out=["silo-02", "silo-03"])
    yield made
    made.close()


def test_the_coordinator_takes_nothing_it_does_not_await(run: Run) -> None:
    draw = Random(1)
    given = run.sent
    oversized = bytes(run.agreement.most_bytes + 1)
    before, status = dump(run.coordinator), run.coordinator.status()
    for number in range(COUNT // 6):
        name = draw.choice(("silo-00", "silo-01"))
        genuine = draw.choice(given[name])
        kind = draw.randrange(12)
        if kind == 0:  # another silo's answer in one's own name, and the other way round
            sender, body = draw.choice((("silo-01", given["silo-00"][-1]), ("", genuine), ("zoe", genuine)))
        elif kind == 1 and number % 50 == 0:
            sender, body = name, oversized
        else:
            sender, body = name, draw.choice(MANGLES)(draw, genuine)
            if body == genuine:
                continue
        with pytest.raises(Refused):
            run.coordinator.receive(sender, body)
        if number % 500 == 0:
            assert dump(run.coordinator) == before
    assert dump(run.coordinator) == before
    assert run.coordinator.status() == status


def test_the_silo_answers_nothing_that_is_not_due(run: Run) -> None:
    draw = Random(2)
    silo = run.silos["silo-02"]
    last = silo.status()["round"]
    questions = [run.coordinator._store.body("question", number, 0) or b"" for number in range(last + 1)]
    due = QuestionMessage.decode(questions[-1], run.agreement)
    if run.coordinator.question() is not None:
        due = asked(run)
        assert not silo._store.entries("answer", at=(due.round, due.attempt)), (
            "the right question would be answered"
        )
    oversized = bytes(run.agreement.most_bytes + 1)
    before, status = dump(silo), silo.status()
    for number in range(COUNT // 6):
        genuine = draw.choice(questions)
        kind = draw.randrange(10)
        body = oversized if kind == 0 and number % 50 == 0 else draw.choice(MANGLES)(draw, genuine)
        if body in questions:
            continue
        with pytest.raises(Refused):
            silo.answer(body)
        if number % 500 == 0:
            assert dump(silo) == before
    assert dump(silo) == before
    after = silo.status()
    assert {key: after[key] for key in after if key != "refusals"} == {
        key: status[key] for key in status if key != "refusals"
    }
    # The silo is none the worse for it.
    assert silo.answer(due.encode())
