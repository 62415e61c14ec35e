"""Questions and item lists: read strictly, and places that anyone can compute again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from discreet.catalogue import Catalogue
from discreet.devices.device.catalogue import CatalogueInvalid, digest, read_ids
from discreet.devices.device.question import Question, QuestionInvalid
from tests.devices.support.questions import SEED, question


def test_json_there_and_back() -> None:
    asked = question("factors", items=1000, rank=3, participants=(2, 5))
    assert Question.from_json(asked.to_json()) == asked
    assert Question.from_json(asked.to_json().encode()) == asked
    assert json.loads(asked.to_json())["participants"] == [2, 5]
    assert " " not in asked.to_json()


WRONG: dict[str, list[Any]] = {
    "task": ["", "a" * 65, "Capital", "line\n"],
    "round": [0, 1.0, True, 1 << 32],
    "kind": ["everything"],
    "epsilon": [0, 20.5, "1", True, 10**400],
    "seed": ["0" * 63, "G" * 64],
    "rotations": [3, 512],
    "items": [0, (1 << 22) + 1],
    "rank": [1, -1],
    "range": [[5, 1], [1], [1, "5"], [-1.7e308, 1.7e308]],
    "participants": [[0, 0], [2, 2], [-1, 2], [0.0, 1]],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_field_out_of_range_is_refused(name: str) -> None:
    fields = json.loads(question("popularity").to_json())
    for value in WRONG[name]:
        with pytest.raises(QuestionInvalid):
            Question.from_json(json.dumps(fields | {name: value}))


def test_missing_added_repeated_and_no_numbers_are_refused() -> None:
    text = question("popularity").to_json()
    fields = json.loads(text)
    for changed in (
        json.dumps({name: value for name, value in fields.items() if name != "seed"}),
        json.dumps({**fields, "more": 1}),
        text[:-1] + ',"round":2}',
        text.replace('"epsilon":1.0', '"epsilon":NaN'),
        text.replace('"epsilon":1.0', '"epsilon":Infinity'),
        "[]",
        "",
        "{" * 3000,
        " " * 5000 + text,
    ):
        with pytest.raises(QuestionInvalid):
            Question.from_json(changed)


def test_the_place_is_the_agreed_hash() -> None:
    asked = question("popularity", items=1000)
    device = bytes(range(16))
    digest = hashlib.sha256(
        b"discreet/place/" + bytes.fromhex(SEED) + (1).to_bytes(4, "big") + device
    ).digest()
    assert asked.place(device) == (
        int.from_bytes(digest[:8], "big") % 16,
        int.from_bytes(digest[8:16], "big") % 1024,
    )


def test_each_device_is_in_exactly_one_group() -> None:
    groups = [question("popularity", participants=(index, 3)) for index in range(3)]
    devices = [index.to_bytes(16, "big") for index in range(300)]
    members = [[asked.takes_part(device) for device in devices] for asked in groups]
    assert all(sum(column) == 1 for column in zip(*members, strict=True))
    assert all(60 < sum(row) < 140 for row in members)


def test_a_pseudonym_has_sixteen_bytes() -> None:
    with pytest.raises(QuestionInvalid):
        question("popularity").place(b"short")


FILES = {
    "numbers.csv": "item\n3\n1\n-7\n",
    "padded.csv": "item\n007\n7\n",
    "huge.csv": "item\n9223372036854775808\n1\n",
    "titled.csv": 'title,item\n"A, B",x\n"C ""D""",y\n',
    "accents.csv": "id,more\n\u00e9t\u00e9,1\n\u00fcber,2\n\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files_mean_the_same_to_a_device_and_to_the_package(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    theirs = Catalogue.from_file(path)
    ids = read_ids(path)
    assert ids == theirs.ids.tolist()
    assert digest(ids) == theirs.digest
    (tmp_path / "catalogue.json").write_text(theirs.to_json())
    assert digest(read_ids(tmp_path / "catalogue.json")) == theirs.digest


LISTS = {
    "a.csv": ["", "item\n", "item\na\na\n", 'item\na\n""\nb\n', "one,two\n1,2\n"],
    "a.json": ["{}", "7", '["a", 1]', "[true]", "[1.5]", "[" * 100_000, "not json"],
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_that_cannot_be_used_are_named(tmp_path: Path, name: str) -> None:
    for text in LISTS[name]:
        (tmp_path / name).write_text(text)
        with pytest.raises(CatalogueInvalid, match=name):
            read_ids(tmp_path / name)
