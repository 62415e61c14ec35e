"""The public item list: what it accepts, how it finds ids, what it refuses."""

import pathlib

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.catalogue import Catalogue
from discreet.errors import CatalogueInvalid

INTEGERS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(min_size=1, max_size=8)


@pytest.mark.parametrize("ids", [[2**63, 1], [1, 2**70], [2**200, 1], np.array([2**63, 1], dtype=np.uint64)])
def test_integers_beyond_64_bits_stay_exact_as_text(ids: list[int]) -> None:
    catalogue = Catalogue(ids)
    assert catalogue.ids.tolist() == [str(number) for number in ids]
    assert catalogue.index(list(ids)).tolist() == [0, 1]


@settings(max_examples=40)
@given(st.lists(INTEGERS, unique=True, min_size=1) | st.lists(TEXTS, unique=True, min_size=1))
def test_ids_come_back_as_they_went_in(ids: list[int] | list[str]) -> None:
    catalogue = Catalogue(ids)
    assert catalogue.ids.tolist() == ids
    assert catalogue.index(ids).tolist() == list(range(len(ids)))
    assert Catalogue.from_json(catalogue.to_json()) == catalogue


@settings(max_examples=40)
@given(
    st.lists(INTEGERS, unique=True, min_size=1) | st.lists(TEXTS, unique=True, min_size=1),
    st.lists(INTEGERS | TEXTS, max_size=20),
)
def test_few_and_many_ids_are_looked_up_alike(ids: list[int] | list[str], wanted: list[int | str]) -> None:
    catalogue = Catalogue(ids)
    pool = [*wanted, *ids]
    for kind in (int, str):
        one_kind = [identity for identity in pool if isinstance(identity, kind)]
        few = catalogue.index(one_kind).tolist()
        assert catalogue.index(one_kind * 2_000)[: len(one_kind)].tolist() == few
    assert [identity in catalogue for identity in pool] == [place >= 0 for place in catalogue.index(pool)]


def test_a_number_and_its_plain_text_are_the_same_id() -> None:
    numbers, texts = Catalogue([7, -5]), Catalogue(["7", "x"])
    for many in (1, 2_000):
        assert numbers.index(["7", "07", "+7", "-5", "x"] * many)[:5].tolist() == [0, -1, -1, 1, -1]
        assert texts.index([7, 8] * many)[:2].tolist() == [0, -1]
    assert numbers.index([7, "7", 7.0, 7.5, True, None]).tolist() == [0, 0, 0, -1, -1, -1]
    assert numbers.index([7, "7", None] * 1_000)[:3].tolist() == [0, 0, -1]


def test_equal_means_same_ids_in_the_same_order() -> None:
    assert Catalogue([1, 2]) == Catalogue(np.array([1, 2]), titles={1: "one"})
    assert hash(Catalogue([1, 2])) == hash(Catalogue([1, 2], titles={1: "one"}))
    assert Catalogue([1, 2]) != Catalogue([2, 1])
    assert Catalogue([1, 2]) != Catalogue(["1", "2"])
    assert Catalogue([1, 2]) != [1, 2]


def test_titles_survive_json_and_may_be_partial() -> None:
    catalogue = Catalogue([4, 2], titles={2: "Amélie, la «belle»"})
    again = Catalogue.from_json(catalogue.to_json())
    assert again.titles == {2: "Amélie, la «belle»"}
    assert Catalogue.from_json(Catalogue(["a"]).to_json()).titles == {}


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([], "empty; list at least one"),
        ([1, 2, 1], "row 3 .* repeats the id 1; list every item once"),
        (["a", None], "row 2 .* no id; fill it in"),
        (["a", ""], "row 2 .* no id"),
        ([1, "a"], "some are not; convert them all to text"),
        ([1.5], "not fractions"),
        ([True, False], "whole numbers or text, not Boolean"),
        ([b"x"], "whole numbers or text, not Binary"),
    ],
)
def test_unusable_lists_are_refused(ids: list[object], message: str) -> None:
    with pytest.raises(CatalogueInvalid, match=message):
        Catalogue(ids)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["not json", "[]", "{}", '{"ids": [1], "titles": ["a", "b"]}'])
def test_damaged_json_is_refused(text: str) -> None:
    with pytest.raises(CatalogueInvalid, match="not a stored catalogue"):
        Catalogue.from_json(text)


def test_files_of_every_kind(tmp_path) -> None:
    frame = pl.DataFrame({"item": [3, 1], "title": ["Three, a film", None], "year": [1999, 2000]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.ndjson")
    for name in ("a.csv", "a.tsv", "a.parquet", "a.ndjson"):
        catalogue = Catalogue.from_file(tmp_path / name)
        assert catalogue.ids.tolist() == [3, 1]
        assert catalogue.titles == {3: "Three, a film"}
    (tmp_path / "a.txt").write_text("beta\r\nalpha\n\n", encoding="utf-8")
    assert Catalogue.from_file(tmp_path / "a.txt").ids.tolist() == ["beta", "alpha"]


def test_which_column_holds_the_ids(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("sku,colour\n007,red\n7,blue\n")
    assert Catalogue.from_file(path, column="sku").ids.tolist() == ["007", "7"]
    with pytest.raises(
        CatalogueInvalid, match="sku, colour, none of them item, item_id or id; name the column"
    ):
        Catalogue.from_file(path)
    with pytest.raises(CatalogueInvalid, match="no column 'item'; there is sku, colour"):
        Catalogue.from_file(path, column="item")
    path.write_text("anything\n5\n6\n\n\n")
    assert Catalogue.from_file(path).ids.tolist() == [5, 6]


def test_unreadable_files_are_refused(tmp_path) -> None:
    with pytest.raises(CatalogueInvalid, match="there is no file"):
        Catalogue.from_file(tmp_path / "none.csv")
    (tmp_path / "a.xlsx").write_text("x")
    with pytest.raises(CatalogueInvalid, match=r"extension of a.xlsx is unknown; save the sheet as CSV"):
        Catalogue.from_file(tmp_path / "a.xlsx")
    (tmp_path / "a.parquet").write_text("junk that is no parquet")
    with pytest.raises(CatalogueInvalid, match="cannot be read"):
        Catalogue.from_file(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ("items.csv", "Catalogue.from_file"),
        (pathlib.Path("items.csv"), "Catalogue.from_file"),
        (pl.DataFrame({"item": [1, 2]}), 'frame\\["item"\\]'),
        (pd.DataFrame({"item": [1, 2]}), 'frame\\["item"\\]'),
        ({"a": "Title of a"}, "and titles apart"),
        (5, "not int;"),
    ],
)
def test_what_is_no_list_of_ids_is_refused_with_what_to_give_instead(ids: object, words: str) -> None:
    with pytest.raises(CatalogueInvalid, match=words):
        Catalogue(ids)  # type: ignore[arg-type]
