"""Tables as people have them: other separators than commas, compressed, without a header."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet import Catalogue, Ratings
from discreet.catalogue import scan_table
from discreet.catalogue.tables import find_separator
from discreet.errors import RatingsInvalid

READING = {"user": "user", "item": "item", "rating": "rating", "rating_range": (1.0, 5.0)}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", "::"])
def test_the_separator_is_found_in_the_first_line(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(
        "\n".join(separator.join(row) for row in (("user", "item", "rating"), ("1", "a b", "4.5")))
    )
    assert find_separator(path) == separator
    assert Ratings.from_file(path, **READING).history(1) == {"a b": 4.5}
    assert Ratings.from_csv(path, separator=separator, **READING).history(1) == {"a b": 4.5}


def test_what_stands_in_quotes_separates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text('"user;who;ever;you;are",item\n1,"a;b"\n')
    assert find_separator(path) == ","
    assert scan_table(path)[0] == ["user;who;ever;you;are", "item"]


@pytest.mark.parametrize(("text", "value"), [("3,5", 3.5), (" 2,0 ", 2.0), ("+1,25", 1.25), ("4.5", 4.5)])
def test_a_comma_between_digits_is_a_decimal_one(text: str, value: float) -> None:
    frame = {"user": ["u"], "item": ["i"], "rating": [text]}
    assert Ratings.from_frame(frame, **READING).history("u") == {"i": value}


def test_files_of_movielens(tmp_path: Path) -> None:
    ratings, movies = tmp_path / "ratings.dat", tmp_path / "movies.dat"
    ratings.write_text("1::10::5::978300760\n2::20::3.5::978302109\n")
    movies.write_bytes("10::Café (1995)::Drama|War\n20::Toy, or not::Animation\n".encode("latin-1"))
    catalogue = Catalogue.from_file(movies, features="genres")
    assert catalogue.titles == {10: "Café (1995)", 20: "Toy, or not"}
    read = Ratings.from_file(ratings, **READING, catalogue=catalogue)
    assert (read.n_users, read.history(2)) == (2, {20: 3.5})


def test_another_file_with_that_extension_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "other.dat"
    path.write_text("1::2\n")
    with pytest.raises(RatingsInvalid, match="has 2 columns with '::' between them"):
        Ratings.from_file(path, **READING)
