"""Which data set is used, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from discreet.errors import RatingsInvalid
from reproduction.context import Context


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with a tiny ml-1m and jester as Parquet."""
    films, jokes = tmp_path / "ml-1m", tmp_path / "jester"
    films.mkdir()
    jokes.mkdir()
    rows = {"user": [1, 1, 1, 2, 2, 3], "item": [10, 20, 30, 10, 20, 10], "rating": [5, 4, 1, 3, 2, 1]}
    pl.DataFrame(rows).write_parquet(films / "ratings.parquet")
    pl.DataFrame({"item": [10, 20, 30, 40]}).write_parquet(films / "items.parquet")
    pl.DataFrame({"user": [1, 2], "item": [1, 100], "rating": [-10.0, 5.0]}).write_parquet(
        jokes / "ratings.parquet"
    )
    return tmp_path


def published(tmp_path: Path) -> Path:
    """MovieLens 10M in its published format, four ratings long."""
    path = tmp_path / "ml-10M100K"
    path.mkdir()
    (path / "ratings.dat").write_text("1::7::5::0\n1::8::0.5::0\n2::7::3.5::0\n3::9::4::0\n")
    (path / "movies.dat").write_text("7::A (1999)::Drama\n8::B (1998)::Drama\n9::C (1997)::Drama\n")
    return path


def test_the_published_format_is_read(folder: Path, tmp_path: Path) -> None:
    published(tmp_path).rename(folder / "ml-10m")
    found = Context(data=folder).dataset("ml-10m")
    assert found.name == "ml-10m"
    assert found.ratings.n_ratings == 4
    assert found.ratings.rating_range == (0.5, 5.0)
    assert "3 users, 3 items, 4 ratings; published with 69,878 users" in found.sentence
    assert not found.as_published  # three users are not the published set


def test_the_nearest_at_hand_is_used_and_named(folder: Path) -> None:
    found = Context(data=folder).dataset("ml-10m")
    assert found.name == "ml-1m"
    assert found.ratings.n_items == 4  # the public list, not the items seen
    assert found.sentence.startswith(
        "MovieLens 10M is not at hand; ran on MovieLens 1M instead (3 users, 4 items"
    )
    assert not found.as_published


def test_without_anything_a_market_is_used_and_named() -> None:
    found = Context("quick").dataset("ml-10m")
    assert found.name == "market"
    assert found.sentence.startswith(
        "MovieLens 10M is not at hand, nor is MovieLens 1M; ran on a synthetic market instead (3,000 users"
    )
    assert not found.as_published
    assert not Context("quick").market().as_published


def test_only_a_quick_run_takes_some_users(folder: Path) -> None:
    assert Context("full", folder).dataset("ml-1m", quick_users=2).ratings.n_users == 3
    found = Context("quick", folder).dataset("ml-1m", quick_users=2)
    assert found.ratings.n_users == 2
    assert not found.whole
    assert found.sentence.endswith("Only 2 of the users, drawn at random.")


def test_an_item_list_is_never_read_off_the_ratings(folder: Path) -> None:
    (folder / "ml-1m" / "items.parquet").unlink()
    with pytest.raises(RatingsInvalid, match="public item list"):
        Context(data=folder).dataset("ml-1m")
