"""Prepared ratings are those that were read whole: every row rule, every kind of file, and no damage is let through."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from discreet import Catalogue
from discreet.data import StoredRatings, preparation, prepare
from discreet.data.rules import RowRules
from discreet.errors import RatingsInvalid
from tests.engines.tables import CATALOGUE, EXPLICIT, histories, in_memory, stored, table

Write = Callable[[pl.DataFrame, Path], str]


def _partitioned(frame: pl.DataFrame, folder: Path) -> str:
    for number, part in enumerate(frame.iter_slices(150)):
        (folder / f"year={number}").mkdir(parents=True)
        part.write_parquet(folder / f"year={number}" / "part.parquet")
    return str(folder)


def _many_csv(frame: pl.DataFrame, folder: Path) -> str:
    folder.mkdir()
    for number, part in enumerate(frame.iter_slices(150)):
        part.write_csv(folder / f"{number}.csv")
    return str(folder / "*.csv")


def _blank_end(frame: pl.DataFrame, path: Path) -> str:
    path.write_text(frame.write_csv() + ",,,,\n,,,,\n")
    return str(path)


def _file(name: str) -> Write:
    def write(frame: pl.DataFrame, place: Path) -> str:
        path = place.with_suffix(f".{name}")
        getattr(frame, f"write_{name}")(path)
        return str(path)

    return write


FORMS: dict[str, Write] = {
    "csv": _file("csv"),
    "parquet": _file("parquet"),
    "ndjson": _file("ndjson"),
    "text ids": lambda frame, place: _file("csv")(
        frame.with_columns(pl.format("u{}", "who").alias("who")), place
    ),
    "text item ids": lambda frame, place: _file("parquet")(
        frame.with_columns(pl.col("what").cast(pl.String)), place
    ),
    "float ids": lambda frame, place: _file("parquet")(
        frame.with_columns(pl.col("who").cast(pl.Float64)), place
    ),
    "giant ids": lambda frame, place: _file("parquet")(
        frame.with_columns(
            pl.col("who").abs().cast(pl.UInt64)
            + pl.when(pl.col("when") < 600).then(0).otherwise(2**63).cast(pl.UInt64)
        ),
        place,
    ),
    "one id that is no number": lambda frame, place: _file("csv")(
        frame.with_columns(
            pl.when(pl.col("when") == 650)
            .then(pl.lit("007"))
            .otherwise(pl.col("who").cast(pl.String))
            .alias("who")
        ),
        place,
    ),
    "partitioned": _partitioned,
    "pattern": _many_csv,
    "blank rows at the end": lambda frame, place: _blank_end(frame, place.with_suffix(".csv")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rated", [True, False])
def test_prepared_ratings_are_those_read_whole(form: str, rated: bool, tmp_path: Path) -> None:
    source = FORMS[form](table(), tmp_path / "ratings")
    whole, blocks = in_memory(source, rated=rated), stored(source, tmp_path / "blocks", rated=rated)
    assert blocks.n_blocks > 5
    assert histories(blocks) == histories(whole)
    facts = ("n_users", "n_items", "n_ratings", "left_out", "rating_range", "explicit")
    assert [getattr(blocks, fact) for fact in facts] == [getattr(whole, fact) for fact in facts]
    assert any(not items for items, _ in histories(blocks).values())


@pytest.mark.parametrize("timed", [True, False])
def test_rules_and_times_hold_alike(timed: bool, tmp_path: Path) -> None:
    source, rules = tmp_path / "r.parquet", RowRules(out_of_range="clip", duplicates="first")
    table().write_parquet(source)
    whole = in_memory(source, timed=timed, rules=rules)
    blocks = stored(source, tmp_path / "b", timed=timed, rules=rules)
    assert histories(blocks) == histories(whole)
    assert blocks.left_out == whole.left_out
    assert blocks.left_out.merged > 0


@pytest.mark.parametrize(
    "rules", [RowRules(missing="error"), RowRules(out_of_range="error"), RowRules(unknown_items="error")]
)
@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_a_refusal_names_the_same_row(rules: RowRules, name: str, tmp_path: Path) -> None:
    frame = table()
    good = frame.filter(
        pl.all_horizontal(pl.all().is_not_null())
        & pl.col("what").is_between(100, 111)
        & pl.col("stars").is_between(1.0, 5.0)
    )
    bad = frame[list(range(len(frame)))].filter(~pl.col("when").is_in(good["when"].implode()))
    source = _file(name)(pl.concat([good[:300], bad]), tmp_path / "r")
    with pytest.raises(RatingsInvalid) as whole:
        in_memory(source, rules=rules)
    with pytest.raises(RatingsInvalid) as apart:
        stored(source, tmp_path / "b", rules=rules)
    row = str(whole.value).partition(":")[0]
    assert row.startswith("row 3")
    assert str(apart.value).partition(":")[0] == row


def test_repeats_are_refused_where_the_rules_say_so(tmp_path: Path) -> None:
    frame = pl.DataFrame({"who": [1, 2, 1], "what": [100, 100, 100], "stars": [1.0, 2.0, 3.0]})
    frame.write_parquet(tmp_path / "r.parquet")
    with pytest.raises(RatingsInvalid, match="row 3: user 1"):
        stored(tmp_path / "r.parquet", tmp_path / "b", rules=RowRules(duplicates="error"), run_rows=1)
    (only,) = [
        values
        for _, values in histories(stored(tmp_path / "r.parquet", tmp_path / "c")).values()
        if values != [2.0]
    ]
    assert only == [3.0]


def test_prepared_ratings_are_used_again_and_only_for_the_same_query(tmp_path: Path) -> None:
    source = tmp_path / "r.parquet"
    table().write_parquet(source)
    first = stored(source, tmp_path / "b")
    written = {file: file.stat().st_mtime_ns for file in first.folder.iterdir()}
    assert stored(source, tmp_path / "b").digest == first.digest
    assert {file: file.stat().st_mtime_ns for file in first.folder.iterdir()} == written
    with pytest.raises(RatingsInvalid, match="another file, or otherwise"):
        stored(source, tmp_path / "b", rules=RowRules(out_of_range="clip"))
    table(1).write_parquet(source)
    with pytest.raises(RatingsInvalid, match="changed since"):
        stored(source, tmp_path / "b")


def test_a_preparation_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table().write_parquet(tmp_path / "r.parquet")
    written = []

    def stop(*given: object, **named: object) -> object:
        written.append(len(list((tmp_path / "b").iterdir())))
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "Manifest", stop)
        with pytest.raises(OSError, match="space"):
            stored(tmp_path / "r.parquet", tmp_path / "b")
    assert written[0] > 5
    assert not (tmp_path / "b").exists()


def test_a_user_of_several_files_is_one_user(tmp_path: Path) -> None:
    """Ids are numbers in some files; one that is none makes all of them text, and `7` and `7` stay the same person."""
    rows = [(7, 100), ("x", 101), (7, 102), (8, 103), (7, 104)]
    for number, (user, item) in enumerate(rows):
        pl.DataFrame({"who": [user], "what": [item]}).write_csv(tmp_path / f"{number}.csv")
    blocks = stored(str(tmp_path / "*.csv"), tmp_path / "b", rated=False, block_ratings=1, run_rows=1)
    assert histories(blocks) == histories(in_memory(str(tmp_path / "*.csv"), rated=False))
    assert blocks.n_users == 3
    assert set(blocks.history("7")) == set(blocks.history(7)) == {100, 102, 104}


def test_a_damaged_block_is_refused_and_says_which(tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "r.parquet")
    blocks = stored(tmp_path / "r.parquet", tmp_path / "b")
    victim = sorted(blocks.folder.glob("block-*"))[3]
    content = bytearray(victim.read_bytes())
    content[-9] ^= 1
    victim.write_bytes(content)
    with pytest.raises(RatingsInvalid, match=victim.name):
        list(blocks.blocks())
    victim.unlink()
    with pytest.raises(RatingsInvalid, match=victim.name):
        list(blocks.blocks())


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "r.parquet")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "holiday.jpg").write_bytes(b"sun")
    with pytest.raises(RatingsInvalid, match="other things"):
        stored(tmp_path / "r.parquet", tmp_path / "b")
    assert (tmp_path / "b" / "holiday.jpg").read_bytes() == b"sun"


def test_unusable_tables_are_refused_in_the_words_for_tables_read_whole(tmp_path: Path) -> None:
    frame = table()
    for name, broken in {
        "empty": frame[:0],
        "strangers": frame.with_columns(pl.col("what") + 10_000),
        "no column": frame.drop("who"),
    }.items():
        source = _file("parquet")(broken, tmp_path / name)
        with pytest.raises(RatingsInvalid) as whole:
            in_memory(source)
        with pytest.raises(RatingsInvalid) as apart:
            stored(source, tmp_path / f"{name} blocks")
        assert str(apart.value).partition("(")[0][:40] == str(whole.value).partition("(")[0][:40]


def test_another_catalogue_is_refused(tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "r.parquet")
    blocks = stored(tmp_path / "r.parquet", tmp_path / "b")
    with pytest.raises(RatingsInvalid, match="another catalogue"):
        StoredRatings(blocks.folder, blocks._manifest, Catalogue([1, 2]), blocks.rules)
    with pytest.raises(RatingsInvalid, match="range"):
        prepare(
            str(tmp_path / "r.parquet"),
            tmp_path / "c",
            EXPLICIT,
            rating_range=None,
            catalogue=CATALOGUE,
            rules=RowRules(allow_dropped=1.0),
        )


def test_what_is_prepared_is_for_its_owner_alone_in_any_folder(tmp_path: Path) -> None:
    """In a folder that was there and that everybody may open, also while it is worked on."""
    place = tmp_path / "there"
    place.mkdir(mode=0o755)
    place.chmod(0o755)
    source = tmp_path / "a.csv"
    table().write_csv(source)
    seen: set[str] = set()

    def look(*_stage: object) -> None:
        for path in place.rglob("*"):
            inside = [path, *(folder for folder in path.parents if place in folder.parents)]
            assert any(one.stat().st_mode & 0o077 == 0 for one in inside), path
            seen.add(path.name)

    umask = os.umask(0o022)
    try:
        prepare(
            str(source),
            place,
            EXPLICIT,
            rating_range=(1.0, 5.0),
            catalogue=CATALOGUE,
            rules=RowRules(allow_dropped=1.0),
            progress=look,
            block_ratings=25,
        )
        look()
    finally:
        os.umask(umask)
    assert {"manifest.json", "unfinished", "00000.arrow"} <= seen


def test_blocks_that_are_opened_again_know_their_rules(tmp_path: Path) -> None:
    table().write_parquet(tmp_path / "r.parquet")
    made = stored(
        tmp_path / "r.parquet", tmp_path / "b", rules=RowRules(out_of_range="clip", allow_dropped=0.9)
    )
    assert StoredRatings.open(tmp_path / "b", CATALOGUE).rules == made.rules
