"""Every way in gives the same ratings."""

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from discreet.data import Ratings

USERS = ["zoe", "al", "zoe", "bea", "al"]
ITEMS = [30, 10, 10, 20, 30]
STARS = [5.0, 1.5, 3.0, 4.0, 2.0]
FRAME = pl.DataFrame({"who": USERS, "what": ITEMS, "stars": STARS, "when": [1, 2, 3, 4, 5]})
READING = {
    "user": "who",
    "item": "what",
    "rating": "stars",
    "rating_range": (1, 5),
    "catalogue": [30, 10, 20, 40],
}


def assert_as_expected(ratings: Ratings) -> None:
    assert ratings.user_ids.tolist() == ["al", "bea", "zoe"]
    assert ratings.indptr.tolist() == [0, 2, 3, 5]
    assert ratings.items.tolist() == [0, 1, 2, 0, 1]  # in the order of the catalogue: 30, 10, 20
    assert ratings.values.tolist() == [2.0, 1.5, 4.0, 5.0, 3.0]
    assert (ratings.indptr.dtype, ratings.items.dtype, ratings.values.dtype) == (
        np.int64,
        np.int32,
        np.float64,
    )
    assert ratings.rating_range == (1.0, 5.0)
    assert ratings.history("zoe") == {30: 5.0, 10: 3.0}


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        lambda frame: frame.lazy(),
        lambda frame: frame.to_arrow(),
        lambda frame: frame.to_pandas(),
        lambda frame: frame.to_pandas().astype({"who": object, "what": object, "stars": object}),
        lambda frame: frame.to_pandas().convert_dtypes(dtype_backend="pyarrow"),
        lambda frame: frame.to_pandas().set_index("when"),
        lambda frame: frame.to_dict(as_series=False),
        lambda frame: {name: column.to_numpy() for name, column in frame.to_dict().items()},
        lambda frame: frame.cast({"who": pl.Categorical, "what": pl.UInt8, "stars": pl.Float32}),
        lambda frame: frame.cast({"stars": pl.String}),
        lambda frame: frame.cast({"stars": pl.Decimal(5, 1)}),
    ],
    ids=[
        *("polars", "lazy", "arrow", "pandas", "objects", "pandas-arrow", "index"),
        *("lists", "arrays", "narrow", "text", "decimal"),
    ],
)
def test_frames(convert: Callable[[pl.DataFrame], object]) -> None:
    assert_as_expected(Ratings.from_frame(convert(FRAME), **READING))


def test_files(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "a.csv")
    FRAME.write_csv(tmp_path / "a.tsv", separator="\t")
    FRAME.write_parquet(tmp_path / "a.parquet")
    FRAME.write_ndjson(tmp_path / "a.jsonl")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    for name in ("a.csv", "a.tsv", "a.parquet", "a.jsonl", "a.csv.gz"):
        assert_as_expected(Ratings.from_file(tmp_path / name, **READING))
        assert_as_expected(Ratings.from_file(str(tmp_path / name), **READING))
    assert_as_expected(Ratings.from_csv(tmp_path / "a.csv", **READING))
    assert_as_expected(Ratings.from_csv(tmp_path / "a.tsv", separator="\t", **READING))
    assert_as_expected(Ratings.from_parquet(tmp_path / "a.parquet", **READING))


def test_csv_with_every_oddity_of_the_format(tmp_path: Path) -> None:
    text = '\ufeffwho,"what",stars\nzoe,30,5\n"al",10, 1.5\nzoe,"10",3.0\nbea,20,4e0\nal,30,2\n\n\n'
    text = text.replace("\n", "\r\n")
    (tmp_path / "odd.data").write_text(text, encoding="utf-8", newline="")
    assert_as_expected(Ratings.from_csv(tmp_path / "odd.data", **READING))


def test_csv_ids_with_leading_zeros_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("u,i\n007,1\n7,1\n")
    ratings = Ratings.from_csv(tmp_path / "a.csv", user="u", item="i")
    assert ratings.user_ids.tolist() == ["007", "7"]
    assert ratings.provisional_ids is not None
    assert ratings.provisional_ids.tolist() == [1]


def test_without_a_catalogue_the_seen_items_are_provisional() -> None:
    ratings = Ratings.from_frame(FRAME, **{**READING, "catalogue": None})
    assert ratings.catalogue is None
    assert ratings.provisional_ids is not None
    assert ratings.provisional_ids.tolist() == [10, 20, 30]
    assert ratings.n_items == 3
    assert ratings.history("bea") == {20: 4.0}


def test_pandas_and_pyarrow_stay_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = FRAME.to_pandas().astype({"who": object})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert_as_expected(Ratings.from_frame(frame, **READING))


def test_arrays_of_a_matrix() -> None:
    matrix = sparse.csr_array(np.array([[2.0, 1.5, 0, 0], [0, 0, 4.0, 0], [5.0, 3.0, 0, 0]]))
    arrays = (matrix.indptr, matrix.indices, matrix.data)
    users, items = ["al", "bea", "zoe"], [30, 10, 20, 40]
    assert_as_expected(Ratings.from_arrays(*arrays, rating_range=(1, 5), catalogue=items, user_ids=users))
