"""A device's item list: the same ids and the same digest as the package makes of the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.catalogue import Catalogue
from discreet.devices.device.catalogue import CatalogueInvalid, digest, read_ids

FILES = {
    "numbers.csv": "item\n3\n1\n-7\n",
    "padded.csv": "item\n007\n7\n",
    "huge.csv": "item\n9223372036854775808\n1\n",
    "titled.csv": 'title,item\n"A, B",x\n"C ""D""",y\n',
    "accents.csv": "id,more\n\u00e9t\u00e9,1\n\u00fcber,2\n\n",
    "tabs.tsv": "item_id\ttitle\nb\tB\na\tA\n",
    "lines.txt": "b\n a \n10\n\n\n",
    "numbers.txt": "5\n4\n",
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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", ""),
        ("a.csv", "item\n"),
        ("a.csv", "item\na\na\n"),
        ("a.csv", 'item\na\n""\nb\n'),
        ("a.csv", "one,two\n1,2\n"),
        ("a.txt", "a\n\nb\n"),
        ("a.json", "{}"),
        ("a.json", "7"),
        ("a.json", '["a", 1]'),
        ("a.json", "[true]"),
        ("a.json", "[1.5]"),
        ("a.json", "[" * 100_000),
        ("a.json", "not json"),
        ("a.parquet", "PAR1"),
    ],
)
def test_lists_that_cannot_be_used_are_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(CatalogueInvalid, match=name):
        read_ids(tmp_path / name)


def test_a_list_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogueInvalid, match="nowhere"):
        read_ids(tmp_path / "nowhere.csv")
