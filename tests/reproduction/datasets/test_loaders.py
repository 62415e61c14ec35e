"""Loaders of published sets, on small files in those formats with the oddities of the real ones."""

from pathlib import Path

import pytest

from discreet.data import Ratings
from discreet.errors import RatingsInvalid, SettingsInvalid
from reproduction.datasets import loaders as datasets
from reproduction.datasets.loaders import Edition


def write(folder: Path, files: dict[str, str], encoding: str = "utf-8") -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode(encoding))
    return folder


def titles(ratings: Ratings) -> dict[object, str]:
    assert ratings.catalogue is not None
    return dict(ratings.catalogue.titles)


# --- MovieLens ------------------------------------------------------------------------------------------

ML_DAT = {
    "ratings.dat": "1::1193::5::978300760\n1::661::3::978302109\n2::1193::4.5::978298413\n\n",
    "movies.dat": "1193::Star Wars: Episode IV (1977)::Action|Sci-Fi\n661::Cité: «L'été» (1994)::Drama\n"
    "7::Unseen (1950)::\n",
}
ML_CSV = {
    "ratings.csv": "userId,movieId,rating,timestamp\n1,2,3.5,1112486027\n1,29,0.5,1112484676\n3,2,5.0,1\n",
    "movies.csv": 'movieId,title,genres\n2,"American President, The (1995)",Comedy\n29,"Say ""Ah""",X\n'
    "31,Café,Y\n\n",
}


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
@pytest.mark.parametrize(("edition", "low"), [("1m", 1), ("10m", 0.5)])
def test_movielens_with_double_colons(tmp_path: Path, encoding: str, edition: Edition, low: float) -> None:
    ratings = datasets.movielens(write(tmp_path, ML_DAT, encoding), edition)
    assert ratings.history(1) == {1193: 5.0, 661: 3.0}
    assert ratings.history(2) == {1193: 4.5}
    assert ratings.rating_range == (low, 5)
    assert titles(ratings) == {
        1193: "Star Wars: Episode IV (1977)",
        661: "Cité: «L'été» (1994)",
        7: "Unseen (1950)",
    }


def test_movielens_with_commas(tmp_path: Path) -> None:
    ratings = datasets.movielens(write(tmp_path, ML_CSV), "20m")
    assert ratings.history(1) == {2: 3.5, 29: 0.5}
    assert ratings.history(3) == {2: 5.0}
    assert ratings.rating_range == (0.5, 5)
    assert titles(ratings) == {2: "American President, The (1995)", 29: 'Say "Ah"', 31: "Café"}


def test_movielens_errors(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="no MovieLens '2m'"):
        datasets.movielens(tmp_path, "2m")  # type: ignore[arg-type]
    with pytest.raises(
        RatingsInvalid, match=r"neither a file nor a folder with ratings.dat; give what was published"
    ):
        datasets.movielens(tmp_path, "1m")
    write(tmp_path, {**ML_DAT, "movies.dat": "Star Wars::5::x\n"})
    with pytest.raises(RatingsInvalid, match=r"movies.dat is not in the published format"):
        datasets.movielens(tmp_path, "1m")
    write(tmp_path, {**ML_DAT, "ratings.dat": "1,1193,5\n"})
    with pytest.raises(RatingsInvalid, match="1 fields in its first line; is it the published file"):
        datasets.movielens(tmp_path, "1m")
    write(tmp_path, {**ML_DAT, "ratings.dat": "1::1193::5::1\n1::99::5::1\n"})
    with pytest.raises(RatingsInvalid, match="row 2: item 99 is not in the catalogue"):
        datasets.movielens(tmp_path, "1m")


# --- Jester ---------------------------------------------------------------------------------------------


def matrix_text(rows: list[dict[int, str]], jokes: int = 100, separator: str = ",") -> str:
    lines = ([str(len(row)), *(row.get(joke, "99") for joke in range(1, jokes + 1))] for row in rows)
    return "".join(separator.join(line) + "\n" for line in lines)


def test_jester_matrix(tmp_path: Path) -> None:
    rows = [{1: "-7.82", 100: "10"}, {}, {5: "0", 7: "-10.00"}]
    path = tmp_path / "saved.csv"
    for separator in (",", ";", "\t"):
        path.write_text(matrix_text(rows, separator=separator) + "\n\n")
        ratings = datasets.jester(path)
        assert ratings.history(1) == {1: -7.82, 100: 10.0}
        assert ratings.history(2) == {}
        assert ratings.history(3) == {5: 0.0, 7: -10.0}  # zero is a rating, 99 is not
        assert (ratings.n_users, ratings.n_items, ratings.rating_range) == (3, 100, (-10, 10))


def test_jester_matrix_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(matrix_text([{1: "1"}, {4: "11.5"}]))
    with pytest.raises(RatingsInvalid, match=r"1 of 2 rows"):
        datasets.jester(path)
    path.write_text(matrix_text([{1: "1"}, {4: "funny"}]))
    with pytest.raises(
        RatingsInvalid, match="row 2, column 5: 'funny' is not a number"
    ):  # the count is column 1
        datasets.jester(path)
    write(tmp_path, {"jester-data-1.xls": "binary"})
    with pytest.raises(RatingsInvalid, match="is a spreadsheet; save it as CSV"):
        datasets.jester(tmp_path / "jester-data-1.xls")


# --- goodbooks ------------------------------------------------------------------------------------------


def test_goodbooks(tmp_path: Path) -> None:
    files = {
        "ratings.csv": "user_id,book_id,rating\n1,258,5\n2,4081,4\n2,258,3\n",
        "books.csv": 'book_id,goodreads_book_id,title\n258,2767052,"Hunger, Games"\n4081,3,Zoë\n7,9,Unread\n',
    }
    ratings = datasets.goodbooks(write(tmp_path, files))
    assert ratings.history(2) == {258: 3.0, 4081: 4.0}
    assert titles(ratings) == {258: "Hunger, Games", 4081: "Zoë", 7: "Unread"}
    assert ratings.rating_range == (1, 5)
