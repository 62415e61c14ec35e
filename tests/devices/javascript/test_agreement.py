"""JavaScript and Python agree to the last bit, on what they answer and on what they refuse."""

from __future__ import annotations

import hashlib
import json
import math
import random
from array import array
from collections.abc import Callable
from decimal import Decimal, getcontext
from pathlib import Path
from typing import Any

from discreet.devices.device.answer import answer, flip_threshold, truth
from discreet.devices.device.item_side import DeviceItemSide, recommend
from discreet.devices.device.question import Question, QuestionInvalid, Terms, TermsInvalid
from tests.devices.javascript.node import digits, from_digits, in_node, needs_node, rated
from tests.sizes import sized

pytestmark = needs_node

QUESTIONS = sized(120, 2_000)
EPSILONS = (5e-324, 2.0**-64, 1e-9, 1.0, math.log(3.0), 13.7, math.nextafter(20, 0), 20.0)
RANGES = (
    (1.0, 5.0),
    (1.0, 5.0),
    (0.0, 5e-324),
    (-1e16, 123456789012345680.0),
    (-1e300, 1e300),
    (-1e-300, 1e-320),
)


def a_question(rng: random.Random) -> Question:
    kind = rng.choice(("popularity", "offsets", "factors"))
    items = rng.choice((1, 2, 7, 255, 256, 257, 1000, 65_537, 1 << 22))
    rank = rng.choice((1, 2, 5, 64)) if kind == "factors" else 0
    if rank:
        items = rng.choice((1, 5, 70, 4096 // rank))
    count = rng.choice((1, 1, 1, 2, 3, 1 << 20))
    return Question(
        "".join(rng.choices("abc-019", k=rng.choice((1, 8, 64)))),
        rng.choice((1, 2, 255, 65_536, (1 << 32) - 1)),
        kind,  # type: ignore[arg-type]
        rng.choice((*EPSILONS, math.exp(rng.uniform(-40, math.log(20))))),
        rng.randbytes(32).hex(),
        1 << rng.randrange(9),
        items,
        rank,
        rng.choice(RANGES),
        (rng.randrange(count), count),
    )


def a_history(asked: Question, rng: random.Random) -> dict[int, float]:
    """In order and not, on the ends of the range and outside of it, and items that are not there."""
    low, high = asked.range
    width = high / 2 - low / 2
    history: dict[int, float] = {}
    for _ in range(rng.choice((0, 1, 2, 5, 40, 40))):
        item = rng.choice((0, asked.items - 1, rng.randrange(asked.items), asked.items, -1))
        inside = [low + width * rng.random() * 2 for _ in range(5)]
        history[item] = rng.choice((low, high, *inside, low - width, 2.0, -0.0, math.nan, math.inf))
    return history


def a_side(items: int, rank: int, rng: random.Random) -> bytes:
    scale = rng.choice((0.0, 1e-40, 1e-3, 0.5, 1e10, 3e38))
    numbers = lambda count: [rng.choice((-1, 1)) * scale * rng.random() for _ in range(count)]  # noqa: E731
    often = (array("f", map(abs, numbers(items))), array("f", [scale] * items), array("f"))
    return DeviceItemSide(
        rng.randrange(99),
        items,
        rank,
        rng.choice((often[0], *often)),
        array("f", numbers(items)),
        array("f", numbers(items * rank)),
        rng.choice((3.0, 0.0, -1e100, 1e-300)),
        rng.choice((0.0, 0.5, 1e100)),
        rng.choice((1.0, 1e-300, 1e100)),
        rng.choice(((1.0, 5.0), (-10.0, 10.0))),
    ).to_bytes()


def test_sha256(tmp_path: Path) -> None:
    rng = random.Random(1)
    texts = [rng.randbytes(length) for length in (*range(130), 1000, 5000)]
    found = in_node(tmp_path, ({"do": "sha256", "data": text.hex()} for text in texts))
    assert [one["ok"] for one in found] == [hashlib.sha256(text).hexdigest() for text in texts]


def test_how_often_a_bit_is_turned_over(tmp_path: Path) -> None:
    rng = random.Random(2)
    epsilons = [*EPSILONS, *(math.exp(rng.uniform(-45, math.log(20))) for _ in range(500))]
    found = in_node(tmp_path, ({"do": "threshold", "epsilon": digits(one)} for one in epsilons))
    assert [int(one["ok"]) for one in found] == [flip_threshold(one) for one in epsilons]
    getcontext().prec = 80
    for epsilon in epsilons:
        exact = Decimal(2) ** 63 / (1 + Decimal(epsilon).exp())
        assert flip_threshold(epsilon) == math.ceil(exact)


def test_questions_places_and_answers(tmp_path: Path) -> None:
    rng = random.Random(3)
    cases: list[dict[str, Any]] = []
    wanted: list[Callable[[], Any]] = []
    for _ in range(QUESTIONS):
        asked, device, tape = a_question(rng), rng.randbytes(16), rng.randbytes(24)
        if rng.random() < 0.2:  # coins that nearly flip, or just so
            word = 2 * (flip_threshold(asked.epsilon) - rng.randrange(2)) + rng.randrange(2)
            tape = word.to_bytes(8, "big") + tape
        history = a_history(asked, rng)
        body = a_side(asked.items, asked.rank, rng) if asked.kind == "factors" else None
        text = asked.to_json().encode().hex()
        released = None if body is None else body.hex()
        own = {
            item: v
            for item, v in history.items()
            if 0 <= item < asked.items and asked.range[0] <= v <= asked.range[1]
        }
        common = {"text": text, "device": device.hex(), "released": released}
        cases += [
            {"do": "question", "text": text},
            {"do": "place", **common},
            {"do": "answer", **common, "rated": rated(history), "tape": tape.hex()},
            {"do": "truth", **common, "items": sorted(own), "values": [digits(own[i]) for i in sorted(own)]},
        ]
        side = None if body is None else DeviceItemSide.from_bytes(body)
        wanted += [
            lambda asked=asked: {"json": asked.to_json(), "dimension": asked.dimension},
            lambda asked=asked, device=device: [asked.takes_part(device), *asked.place(device)],
            lambda asked=asked, device=device, history=history, side=side, tape=tape: _answer(
                asked, history, device, side, tape
            ),
            lambda asked=asked, device=device, own=own, side=side: digits(
                truth(asked, sorted(own), [own[i] for i in sorted(own)], device, side)
            ),
        ]
    found = in_node(tmp_path, cases)
    answers, failures, values = [], 0, set()
    for one, case, result in zip(found, cases, wanted, strict=True):
        try:
            right = result()
        except (QuestionInvalid, ZeroDivisionError):
            assert "refused" in one, case
            failures += 1
            continue
        if case["do"] == "truth" and one["ok"] != right:
            # No number: its sign and payload say nothing.
            assert math.isnan(from_digits(one["ok"])) and math.isnan(from_digits(right)), case  # noqa: PT018
            continue
        assert one.get("ok") == right, case
        if case["do"] == "answer":
            answers.append(one["ok"]["bit"])
        if case["do"] == "truth":
            values.add(right)
    assert min(answers.count(0), answers.count(1)) > QUESTIONS / 10
    assert failures > QUESTIONS / 20
    assert len(values) > QUESTIONS / 5


def _answer(
    asked: Question, history: dict[int, float], device: bytes, side: DeviceItemSide | None, tape: bytes
) -> dict[str, Any]:
    taken = []

    def randbits(count: int) -> int:
        """As ``secrets.randbits`` reads the bytes of the operating system."""
        taken.append(count // 8)
        return int.from_bytes(tape[: count // 8], "big")

    bit = answer(asked, history, device, side, randbits)
    report = {"task": asked.task, "round": asked.round, "device": device.hex(), "bit": bit}
    return {"bit": bit, "used": sum(taken), "report": json.dumps(report, separators=(",", ":"))}


def test_what_is_not_a_question_is_none_in_both(tmp_path: Path) -> None:
    rng = random.Random(4)
    texts = []
    for _ in range(800):
        text = bytearray(a_question(rng).to_json().encode())
        for _ in range(rng.choice((0, 1, 1, 2))):
            text = _spoilt(text, rng)
        texts.append(bytes(text))
    base = Question("films", 1, "popularity", 1.0, "ab" * 32, 16, 5, 0, (1.0, 5.0)).to_json()
    for old, new in (
        ('"round":1', '"round":1.0'),
        ('"round":1', '"round":-0'),
        ('"round":1', '"round":01'),
        ('"round":1', '"round":1,"round":1'),
        ('"round":1', '"\\u0072ound":1'),
        ('"epsilon":1.0', '"epsilon":1'),
        ('"epsilon":1.0', '"epsilon":NaN'),
        ('"epsilon":1.0', '"epsilon":1e999'),
        ('"epsilon":1.0', '"epsilon":1e-999'),
        ("[1.0,5.0]", "[-0.0,5]"),
        ("[1.0,5.0]", "[-9007199254740991,9007199254740991]"),
        ("[1.0,5.0]", "[-9007199254740992,9007199254740992]"),
        ("[1.0,5.0]", "[" * 500 + "]" * 500),
        ("[0,1]", "[0.0,1]"),
        ('"films"', '"films\\n"'),
        ('"films"', '"\\ud800"'),
        ("{", "\ufeff{"),
        ("{", "\x0b{"),
    ):
        assert old in base
        texts.append(base.replace(old, new, 1).encode())
    texts += [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        base.encode("utf-16"),
        base.encode() + b" " * 4096,
        b'"\xed\xa0\x80"',
    ]
    found = in_node(tmp_path, ({"do": "question", "text": text.hex()} for text in texts))
    read = 0
    for text, one in zip(texts, found, strict=True):
        try:
            right = Question.from_json(text).to_json()
        except QuestionInvalid:
            assert "refused" in one, text
            continue
        assert one.get("ok", {}).get("json") == right, text
        read += 1
    assert 200 < read < len(texts) - 200


def _spoilt(text: bytearray, rng: random.Random) -> bytearray:
    place = rng.randrange(len(text))
    how = rng.randrange(3)
    if how == 0:
        text[place] = rng.choice(b'0123456789.eE-+"{}[],: \\abc\x00\xc3')
    elif how == 1:
        del text[place : place + rng.choice((1, 2, 9))]
    else:
        text[place:place] = rng.choice((b"1", b"0", b" ", b'"', b",", b"[1]", b"e5", b".5", b"-"))
    return text


def test_terms(tmp_path: Path) -> None:
    rng = random.Random(5)
    texts = []
    for _ in range(300):
        range_ = rng.choice(RANGES)
        terms = Terms(
            "films", rng.choice((1e-300, 0.5, 4.0, 1000.0)), rng.randrange(1, 10_001), 9, range_, "ab" * 32
        )
        text = bytearray(terms.to_json().encode())
        texts.append(bytes(_spoilt(text, rng) if rng.random() < 0.5 else text))
    found = in_node(tmp_path, ({"do": "terms", "text": text.hex()} for text in texts))
    for text, one in zip(texts, found, strict=True):
        try:
            assert one.get("ok") == Terms.from_json(text).to_json(), text
        except TermsInvalid:
            assert "refused" in one, text
    assert 100 < sum("ok" in one for one in found) < 290


def test_item_sides_whole_and_damaged(tmp_path: Path) -> None:
    rng = random.Random(6)
    bodies = []
    for number in range(300):
        body = bytearray(a_side(rng.choice((1, 3, 20)), rng.choice((0, 1, 3)), rng))
        if number % 3:
            place = rng.randrange(min(len(body), 250))
            if rng.random() < 0.8:
                body[place] = rng.choice(b'0123456789.eE-"{}[],:\x00\xff')
            else:
                del body[place : place + rng.choice((1, 4, 50))]
        bodies.append(bytes(body))
    bodies += [b"", bytes(8), b"\xff" * 4 + bytes(20)]
    found = in_node(tmp_path, ({"do": "side", "released": body.hex()} for body in bodies))
    for body, one in zip(bodies, found, strict=True):
        try:
            side = DeviceItemSide.from_bytes(body)
        except QuestionInvalid:
            assert "refused" in one, body
            continue
        assert side.range is not None
        arrays = [[digits(value) for value in part] for part in (side.popularity, side.offsets, side.factors)]
        rule = [side.centre, side.offset_penalty, side.factor_penalty, *side.range]
        assert one.get("ok") == [side.round, side.items, side.rank, arrays, [digits(value) for value in rule]]
    assert 100 < sum("ok" in one for one in found) < 280


def test_recommendations(tmp_path: Path) -> None:
    rng = random.Random(7)
    cases = []
    for _ in range(200):
        items = rng.choice((1, 5, 60))
        history = {rng.randrange(items): rng.choice((1.0, 5.0, 3.5)) for _ in range(rng.choice((0, 1, 8)))}
        body = a_side(items, rng.choice((0, 0, 2)), rng)
        cases.append((history, body, rng.choice((0, 1, 10, 100))))
    found = in_node(
        tmp_path,
        (
            {
                "do": "recommend",
                "rated": rated(history),
                "released": body.hex(),
                "range": [digits(1.0), digits(5.0)],
                "n": n,
            }
            for history, body, n in cases
        ),
    )
    refused = 0
    for (history, body, n), one in zip(cases, found, strict=True):
        try:
            best = recommend(history, DeviceItemSide.from_bytes(body), (1.0, 5.0), n)
        except ZeroDivisionError:
            assert "refused" in one
            refused += 1
            continue
        assert [item for item, _ in best] == [item for item, _ in one["ok"]]
        for (_, mine), (_, theirs) in zip(best, one["ok"], strict=True):
            assert digits(mine) == theirs or math.isnan(mine)
    assert refused < 50
