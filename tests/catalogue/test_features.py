"""Columns of a catalogue become one matrix, the same everywhere, in groups that are comparable in size."""

from __future__ import annotations

import datetime
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.catalogue import FeatureEncoder, ItemFeatures
from discreet.errors import CatalogueInvalid

MOVIES = {
    "title": [
        "Alien (1979)",
        "Aliens (1986)",
        "Alien³ (1992)",
        "Amélie (2001)",
        "2001: A Space Odyssey (1968)",
        "Space Jam (1996)",
        None,
        "",
    ],
    "genres": [
        "Horror|SciFi",
        "SciFi|Horror|Action",
        "SciFi|Horror",
        "Comedy",
        "SciFi",
        "Comedy; Family",
        None,
        " ",
    ],
}


def tokens(features: ItemFeatures, group: str, item: int) -> set[str]:
    """Tokens of an item in a group."""
    encoder = features.encoder
    found = next(one for column in encoder.columns for one in column.groups if one.name == group)
    start = int(np.flatnonzero(features.group_of == features.groups.index(group))[0])
    row = features.matrix[[item]].toarray()[0]
    return {token for place, token in enumerate(found.tokens) if row[start + place] != 0.0}  # type: ignore[union-attr]


def lengths(features: ItemFeatures, group: str) -> np.ndarray:
    """Squared length of each item's row within a group."""
    columns = features.group_of == features.groups.index(group)
    squared: np.ndarray = np.square(features.matrix.toarray()[:, columns]).sum(axis=1)
    return squared


def test_tags_are_split_and_paired() -> None:
    features = ItemFeatures.learn({"genres": MOVIES["genres"]})
    assert features.encoder.kinds == {"genres": "tags"}
    assert features.groups == ("genres", "genres pairs")
    assert tokens(features, "genres", 1) == {"horror", "scifi"}  # action is of one film only
    assert tokens(features, "genres", 5) == {"comedy"}
    assert tokens(features, "genres pairs", 0) == {"horror\tscifi"}
    assert tokens(features, "genres", 6) == tokens(features, "genres", 7) == set()
    np.testing.assert_allclose(lengths(features, "genres"), [1, 1, 1, 1, 1, 1, 0, 0])


def test_a_title_gives_words_pairs_of_words_and_its_year() -> None:
    features = ItemFeatures.learn({"title": MOVIES["title"]}, {"title": "text"})
    assert tokens(features, "title words", 4) == {"space"}  # "2001" is a word here, of one title only
    years = {group: features.groups.index(group) for group in ("title year",)}
    year = features.matrix[:, np.flatnonzero(features.group_of == years["title year"])].toarray()[:, 0]
    assert year[4] == min(year)
    assert year[3] == max(year)
    assert not year[6:].any()
    assert tokens(features, "title decades", 2) == tokens(features, "title decades", 5) == {"1990s"}


def test_numbers_are_standard_with_soft_bins_and_outliers_do_not_run_away() -> None:
    values: list[Any] = [*range(99), None, 10**12]
    features = ItemFeatures.learn({"price": values})
    assert features.groups == ("price", "price bins")
    dense = features.matrix.toarray()
    assert dense[100, 0] == 3.0
    assert not dense[99].any()
    np.testing.assert_allclose(np.delete(lengths(features, "price bins"), 99), 1.0)
    assert set((dense[:99, 1:] > 0).sum(axis=1)) == {1, 2}
    plain = ItemFeatures.learn({"price": list(range(100))}).matrix.toarray()[:, 0]
    assert abs(plain.mean()) < 1e-12
    assert abs(np.square(plain).mean() - 1.0) < 1e-12


def test_an_embedding_is_centred_and_has_a_mean_squared_length_of_one() -> None:
    rows = np.random.default_rng(0).normal(3.0, 5.0, (50, 4))
    features = ItemFeatures.learn(rows)
    assert features.groups == ("embedding",)
    assert np.abs(features.matrix.toarray().mean(axis=0)).max() < 1e-12
    assert abs(lengths(features, "embedding").mean() - 1.0) < 1e-12
    listed = ItemFeatures.learn(pl.DataFrame({"embedding": rows.tolist()}))
    assert listed.encoder.kinds == {"embedding": "embedding"}
    assert listed.digest == features.digest
    rows[7, 2] = np.nan
    assert not ItemFeatures.learn(rows).matrix[[7]].toarray().any()


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["1.5", " 2", "", None], "number"),
        ([1, 2, None], "number"),
        ([datetime.date(2000, 1, 1), datetime.date(2001, 1, 1)], "number"),
        ([datetime.datetime(2000, 1, 1), None, datetime.datetime(2001, 1, 1)], "number"),
        ([True, False, None], "category"),
        (["en", "fr", "en", "en"], "category"),
        (["one text", "another text", "a third"], "text"),
        (["a|b", "c", "d"], "tags"),
        ([[1.0, 2.0], [3.0, 4.0]], "embedding"),
        ([["x"], ["y"]], "tags"),
    ],
)
def test_kinds_are_guessed_from_type_and_content(column: list[Any], kind: str) -> None:
    assert FeatureEncoder.learn({"column": column}).kinds == {"column": kind}


def test_a_kind_that_is_named_wins() -> None:
    years = ItemFeatures.learn({"year": [1999.0, 1999.0, 2001.0, 2001.0, None]}, {"year": "category"})
    assert tokens(years, "year", 0) == {"1999"}
    with pytest.raises(CatalogueInvalid, match=r"one of number, category, .*, not 'colour'"):
        ItemFeatures.learn({"year": [1]}, {"year": "colour"})  # type: ignore[dict-item]
    with pytest.raises(CatalogueInvalid, match="no column 'yeer'"):
        ItemFeatures.learn({"year": [1]}, {"yeer": "number"})


def test_new_items_get_rows_over_the_same_columns_and_unknown_tokens_are_left_out() -> None:
    features = ItemFeatures.learn(MOVIES)
    encoder = FeatureEncoder.from_json(features.encoder.to_json())
    again = encoder.encode(pl.DataFrame(MOVIES).with_columns(other=1))
    assert again.shape == features.matrix.shape
    assert (again != features.matrix).nnz == 0
    new = encoder.encode({"title": ["Aliens of Space (1979)"], "genres": ["SciFi|Western"]})
    columns = features.group_of == features.groups.index("genres")
    assert new.toarray()[0, columns].tolist() == [0.0, 0.0, 1.0]  # comedy, horror, scifi
    with pytest.raises(CatalogueInvalid, match="no column 'genres'"):
        encoder.encode({"title": ["Alien"]})


def test_the_digest_does_not_depend_on_the_process() -> None:
    code = (
        "import numpy as np\nfrom discreet.catalogue import ItemFeatures\nr = np.random.default_rng(0)\n"
        "print(ItemFeatures.learn({'n': r.lognormal(size=1000), 'e': r.normal(size=(1000, 8)), "
        "'g': [f'a{k % 7}|b{k % 5}' for k in range(1000)]}).digest)"
    )
    changed = {"PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | changed, capture_output=True, text=True, check=True
    )
    here = io.StringIO()
    with redirect_stdout(here):
        exec(code, {})
    assert here.getvalue() == done.stdout


def test_sums_are_exact_so_the_order_of_items_does_not_matter() -> None:
    values = np.random.default_rng(0).lognormal(0.0, 3.0, 5_000)
    order = np.random.default_rng(1).permutation(5_000)
    assert FeatureEncoder.learn({"n": values}) == FeatureEncoder.learn({"n": values[order]})
    rows = values.reshape(-1, 5)
    assert FeatureEncoder.learn(rows) == FeatureEncoder.learn(rows[::-1])


@pytest.mark.parametrize("column", [[None, None], ["", "  "], [float("nan")] * 2, [[], None]])
def test_a_column_without_any_value_is_refused_by_its_name(column: list[Any]) -> None:
    with pytest.raises(CatalogueInvalid, match="'colour' has nothing to read"):
        ItemFeatures.learn({"colour": column, "title": ["a", "b"]})


@settings(max_examples=50)
@given(
    st.lists(st.none() | st.text(max_size=30), min_size=1, max_size=12),
    st.sampled_from(["text", "tags", "people"]),
)
def test_any_text_of_any_language_can_be_encoded(texts: list[str | None], kind: Any) -> None:
    features = ItemFeatures.learn({"c": [*texts, "word", "word"]}, {"c": kind})
    back = FeatureEncoder.from_json(features.encoder.to_json())
    assert back == features.encoder
    assert (back.encode({"c": [*texts, "word", "word"]}) != features.matrix).nnz == 0
    for group in features.groups:
        squared = lengths(features, group)
        if group != "c year":
            assert ((squared == 0.0) | (np.abs(squared - 1.0) < 1e-12)).all()


@pytest.mark.parametrize(
    ("table", "kinds", "message"),
    [
        ({}, None, "no features"),
        ({"a": [1, 2], "b": [1]}, None, "differ in length"),
        ({"a": "text"}, None, "a value for each item"),
        ("genres", None, "features cannot be read from str"),
        ({"e": [[1.0], [1.0, 2.0]]}, None, "equally many numbers"),
        ({"e": ["x", "y"]}, {"e": "embedding"}, "equally many numbers"),
        ({"e": np.ones((2, 2))}, {"e": "text"}, "is an embedding and not text"),
        ({"e": np.array([["a"], ["b"]])}, None, "other than numbers"),
        ({"n": ["x", "y"]}, {"n": "number"}, "'n' has nothing to read as number"),
        ({"n": [[1], [2]]}, {"n": "number"}, "lists where numbers are needed"),
        ({"s": ["\ud800", "b"]}, None, "'s' cannot be read"),
        ({"s": [{"a": 1}, {"a": 2}]}, None, "'s' cannot be read"),
    ],
)
def test_what_cannot_be_features_is_refused_in_words(table: Any, kinds: Any, message: str) -> None:
    with pytest.raises(CatalogueInvalid, match=message):
        ItemFeatures.learn(table, kinds)


def test_extreme_numbers_stay_finite() -> None:
    numbers = [1e308, -1e308, 1e-308, 0.0, float("inf"), float("-inf"), float("nan"), 5e-324]
    features = ItemFeatures.learn({"n": numbers, "e": np.array([numbers]).T})
    assert np.isfinite(features.matrix.data).all()
    new = features.encoder.encode({"n": [1.7e308], "e": np.array([[-1.7e308]])})
    assert np.isfinite(new.data).all()
    small = ItemFeatures.learn({"n": [0.0, 5e-324, 1e-323]})
    assert np.isfinite(small.encoder.encode({"n": [1e308]}).data).all()


def _altered(change: Any) -> str:
    stored = json.loads(FeatureEncoder.learn(MOVIES | {"n": list(range(8))}).to_json())
    change(stored)
    return json.dumps(stored)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        _altered(lambda stored: stored.update(version=2)),
        _altered(lambda stored: stored["columns"][0].update(kind="number")),
        _altered(lambda stored: stored["columns"][0].update(separators="")),
        _altered(lambda stored: stored["columns"][0].update(more=1)),
        _altered(lambda stored: stored["columns"][0]["groups"][0].update(tokens=["b", "a"])),
        _altered(lambda stored: stored["columns"][0]["groups"][0].update(tokens=[])),
        _altered(lambda stored: stored["columns"][0]["groups"][0].update(name="other")),
        _altered(lambda stored: stored["columns"][1]["groups"][0].update(spread=0.0)),
        _altered(lambda stored: stored["columns"][1]["groups"][0].update(mean=float("nan"))),
        _altered(lambda stored: stored["columns"][1]["groups"][1].update(knots=[1.0])),
    ],
)
def test_damaged_json_is_refused(text: str) -> None:
    with pytest.raises(CatalogueInvalid, match="no stored encoder"):
        FeatureEncoder.from_json(text)
