"""What people get wrong: every command ends with exit code 2 and a sentence that helps, and writes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Run
from tests.model.models import make_doubtful, make_model
from tests.statements.test_signature import KEY, pem, public_pem
from tests.web.support.models import make_model as make_table

Refused = Callable[..., str]

HEADER = "user,item,stars\n"
DEEP = "[" * 100_000
NEW = "item,title,genres,year\nnew-1,The first,War|Drama,2001\nnew-2,,Western,\n"
FILES = {
    "r2.csv": HEADER + "1,item-0001,3\n1,item-0002,7\n",
    "r5.csv": HEADER + "1,item-0001,3\n2,item-0001,\n",
    "r9.csv": HEADER + "1,item-0001,3\n1,ghost,3\n",
    "header.csv": HEADER,
    "empty.csv": "",
    "one-user.csv": HEADER + "1,item-0001,4\n1,item-0002,2\n",
    "one-item.csv": HEADER + "".join(f"{user},item-0001,{1 + user % 5}\n" for user in range(30)),
    "one.csv": "item\nitem-0001\n",
    "h1.json": '{"item-2": 5, "ghost": 1}',
    "h2.csv": "user,item,rating\n1,item-2,5\n1,ghost,2\n",
    "h4.csv": "user,item,rating\n1,item-2,9\n",
    "h5.csv": "item,rating\nitem-2,9\n",
    "h9.csv": "user,item,rating\n1,item-2,5\n1,item-2,4\n",
    "h11.csv": "itm,rating\nitem-2,5\n",
    "h13.json": "{",
    "h15.json": '{"me": {"item-2": 5}}',
    "h16.json": '["item-2"]',
    "h17.json": DEEP,
    "mine.json": '{"item-2": 5.0}',
    "clicks.json": "[10]",
    "signed.json": '{"10": -1}',
    "films.csv": "user,item\n7,film-1\n8,film-2\n",
    "half.csv": "item,liked\nfilm-1,0.5\n",
    "twice.csv": "item,liked\nfilm-1,1\nfilm-1,-1\n",
    "everyone.csv": "user,item,rating\n7,item-2,5\n8,item-3,3\n",
    "past.csv": HEADER + "1,item-2,5\n1,item-3,4\n2,item-2,1\n",
    "test1.csv": HEADER + "1,item-5,5\n2,item-3,2\n",
    "ghost.csv": HEADER + "1,item-5,5\n1,ghost,3\n",
    "stranger.csv": HEADER + "77,item-1,3\n",
    "new.csv": NEW,
    "known.csv": NEW.replace("new-2", "item-3"),
    "repeated.csv": NEW.replace("new-2", "new-1"),
    "unlike.csv": NEW.replace("genres", "genre"),
    "described.csv": "item,genres\nitem-0001,war\nitem-0002,drama\n",
    "plays.csv": "Who;Song;Plays\n1;2;3\n1;3;1\n",
    "songs.csv": "Song\n2\n3\n",
    "notes.txt": "mine",
    "table.csv": "who,what,when\na,1,1\nb,2,2\n",
}
COLUMNS = "--user user --item item --rating stars"
STARS = f"{COLUMNS} --rating-range 1 5"
LISTED = "--catalogue items.csv"
BUDGET = "--epsilon 5 --delta 1e-4"
STRICT = "--missing error --out-of-range error --unknown-items error"
TRAIN = f"train train.csv {STARS}"
ALS = f"{TRAIN} --method als --out model"
RECOMMEND = "recommend explicit --history"
EVALUATE = "evaluate explicit test1.csv --history past.csv"
ADD = "add-items doubtful"
PLAYS = "train plays.csv --epsilon 8 --delta 1e-6 --out m"

REFUSALS: list[tuple[str, str]] = [
    # Groups, and words that are no command
    ("trian", "No such command 'trian'. Did you mean 'train'?"),
    ("xyz", "No such command 'xyz'."),
    # Budgets
    *(
        (f"budget --epsilon={epsilon} --delta={delta}", message)
        for epsilon, delta, message in (
            ("0", "1e-6", "epsilon must be above zero"),
            ("nan", "1e-6", "epsilon is not a number"),
            ("one", "1e-6", "epsilon must be a number, got 'one'"),
            ("1", "1", "delta must be below 1"),
        )
    ),
    (f"{TRAIN} {LISTED} --epsilon inf --delta 1e-6 --out model", "--method als"),
    (f"{TRAIN} {LISTED} --goal rate --epsilon 1e-9 --delta 1e-12 --out model", "budget"),
    # Rows
    *(
        (f"train {name}.csv {STARS} {LISTED} {BUDGET} {STRICT} --out model", message)
        for name, message in (
            ("r2", "row 2: the rating 7 is outside 1 to 5"),
            ("r5", "row 2: the rating is missing"),
            ("r9", "row 2: item 'ghost' is not in the catalogue"),
            ("header", "no ratings"),
            ("empty", "empty"),
            ("no-such-file", "no-such-file.csv"),
        )
    ),
    (f"train one-user.csv {STARS} {LISTED} --method als --out model", "only one user"),
    (f"train one-item.csv {STARS} --catalogue one.csv --method als --out model", "only one item"),
    (f"train one-item.csv {STARS} --catalogue one.csv --goal rate {BUDGET} --out model", "only one item"),
    # What train is asked
    (f"{TRAIN} {BUDGET} --out model", "--catalogue FILE, or spend part of the budget on finding them"),
    (f"{TRAIN} {BUDGET} {LISTED} --discover-items --out model", "exclude each other"),
    (f"{TRAIN} {BUDGET} --discover-items 1.5 --out model", "1.5 is not in the range 0.0<x<1.0"),
    (f"{TRAIN} {LISTED} --epsilon 1 --out model", "--delta is missing"),
    (f"{ALS} {BUDGET}", "not private and has no use for --epsilon"),
    (f"{ALS} --discover-items", "no use for --discover-items"),
    (f"{TRAIN} --method magic --out model", "there is no method 'magic'; known are ease, budgeted"),
    (f"{ALS} --rank many", "'many' is neither a whole number nor 'auto'"),
    (f"{ALS} --rounds 0", "0 is below 1"),
    (f"{ALS} --set colour=red", "colour: no such setting. Known settings"),
    (f"{ALS} --set penalti=.05", "penalti: no such setting; did you mean penalty"),
    (f"{ALS} --set penalty", "--set takes key=value"),
    (f"{ALS} --set rank=4", "use --rank instead of --set"),
    (f"{ALS} --set penalty={DEEP}", "penalty"),
    (f"{ALS} --implicit", "--implicit means that there are no ratings"),
    (f"{ALS} --ledger people.ledger", "has no use for --ledger"),
    (f"{ALS} --engine disk {LISTED}", "--engine memory"),
    (f"{ALS} --checkpoint r {LISTED}", "a checkpoint"),
    (f"{ALS} --start april", "has no use for --start"),
    (
        f"{TRAIN} {LISTED} {BUDGET} --ledger-group may --out model",
        "--ledger-group says something about --ledger",
    ),
    (f"{TRAIN} {LISTED} {BUDGET} --start-is-public --out model", "--start, which is missing"),
    (f"{TRAIN} {LISTED} {BUDGET} --blocks b --engine memory --out model", "leave it out"),
    (f"{TRAIN} {LISTED} {BUDGET} --workers 2 --out model", "--workers belongs to --engine ray"),
    (f"{TRAIN} {BUDGET} --discover-items --engine disk --out model", "--engine memory"),
    (f"{TRAIN} {BUDGET} {LISTED} --preset ml-10m-eps-1 --out model", "--preset belongs to --method dpals"),
    ("train --resume run --out other", "stands alone"),
    ("train --resume run", "no stopped run"),
    (f"train - {STARS} {LISTED} {BUDGET} --engine disk --out model", "standard input is gone by then"),
    ("train train.csv --user user --item item --rating stars --out model --method als", "--rating-range is"),
    (
        "train train.csv --user user --item item --rating-range 1 5 --out model --method als",
        "about --rating, which is missing",
    ),
    (f"train train.csv {COLUMNS} --rating-range 5 1 --method als --out model", "must be finite and rise"),
    (f"train train.csv {COLUMNS} --rating-range 1 1e300 {LISTED} {BUDGET} --out model", "single precision"),
    (f"{TRAIN} --catalogue one.csv {BUDGET} --method item-mean --out model", "--allow-dropped"),
    (f"{TRAIN} --method als --out .", "no model; choose another name"),
    (f"{TRAIN} --method als --out missing/model", "create it"),
    (f"{TRAIN} --method als --out explicit", "already has a model"),
    (f"{TRAIN} {LISTED} --method user-mean --epsilon 1 --out m", "--delta is missing"),
    (f"{TRAIN} --method user-mean --discover-items --out m", "--epsilon is missing"),
    (f"{TRAIN} --method user-mean --out m", "--catalogue FILE"),
    (f"{TRAIN} {LISTED} {BUDGET} --method user-mean --rank 2 --out m", "--method user-mean has no rank"),
    (
        f"train train.csv --user user --item item {LISTED} {BUDGET} --method item-mean --out m",
        "predicts ratings",
    ),
    # Goals
    (f"{TRAIN} {LISTED} {BUDGET} --method svd --goal rank --out m", "leave --goal or --method out"),
    (
        f"{TRAIN} {LISTED} {BUDGET} --method budgeted --goal rank --out m",
        "predicts ratings and makes no lists",
    ),
    (
        f"{TRAIN} {LISTED} {BUDGET} --method popularity --goal rate --out m",
        "--method popularity predicts none",
    ),
    (f"{TRAIN} {LISTED} {BUDGET} --set goal=rank --out m", "use --goal instead of --set"),
    (
        f"train train.csv --user user --item item {LISTED} {BUDGET} --method budgeted --out m",
        "(--method ease)",
    ),
    (
        f"train train.csv --user user --item item {LISTED} {BUDGET} --goal rate --out m",
        "none without --rating",
    ),
    # Columns and catalogues
    (f"{PLAYS} --user who --item Song --catalogue songs.csv --catalogue-column Song", "did you mean 'Who'?"),
    (f"{PLAYS} --user Who --item Song --catalogue songs.csv --catalogue-column song", "did you mean 'Song'?"),
    (
        f"{PLAYS} --user Who --item Song --discover-items --catalogue-column Song",
        "about --catalogue, which is missing",
    ),
    *(
        (f"{TRAIN} --catalogue described.csv {BUDGET} --allow-dropped 1 --features {given} --out m", message)
        for given, message in (
            ("genre", "no column 'genre'"),
            ("genres:colour", "not 'colour'"),
            (",", "names no column"),
            ("genres --method dpals", "dpals does not use item features; leave out --features"),
        )
    ),
    (f"{ALS} --catalogue described.csv --features genres", "als does not use item features"),
    (f"{TRAIN} {BUDGET} --discover-items --features genres --out m", "FILE, which is missing"),
    # Histories
    *(
        (f"{RECOMMEND} {name} --json", message)
        for name, message in (
            ("h1.json", "names 1 of 2 items that the model's catalogue does not have: 'ghost'"),
            ("h2.csv", "row 2: item 'ghost' is not in the catalogue"),
            ("h4.csv", "row 1: the rating 9 is outside 1 to 5"),
            ("h5.csv", "'item-2' is 9, outside"),
            ("h9.csv", "row 2"),
            ("h11.csv", "--item-column, perhaps 'itm'"),
            ("h13.json", "not valid JSON"),
            ("h15.json", "give them as a table with a column user"),
            ("h16.json", "a bare list of item ids has no ratings"),
            ("h17.json", "not valid JSON"),
            ("no.csv", "no file"),
            ("mine.json --user 9", "does not tell users apart"),
            ("everyone.csv --user 9", "no user '9'"),
            ("everyone.csv --disliked item-3", "name one with --user"),
            ("everyone.csv --user-column who", "no column 'who'"),
            ("everyone.csv --out out.txt", "--out writes .parquet or .csv"),
            ("everyone.csv --engine memory --blocks b", "leave it out"),
        )
    ),
    ("recommend implicit --history clicks.json --disliked 20", "cannot tell what somebody does not like"),
    ("recommend clicks --history half.csv --rating-column liked", "0.5"),
    ("recommend clicks --history twice.csv --rating-column liked", "more than once"),
    ("recommend clicks --history films.csv --disliked film-3", "name one with --user"),
    ("explain explicit --history everyone.csv", "name one of them with --user ID"),
    ("explain explicit --history mine.json --item ghost", "does not have: 'ghost'"),
    ("explain explicit --history mine.json --user a", "does not tell users apart"),
    # Other readers of models
    ("similar explicit --item ghost", "'ghost'"),
    ("similar flat --item item-1", "rank 0"),
    ("similar nowhere --item 1", "there is no model nowhere"),
    (f"{EVALUATE} --user user --item item", "name their column with --rating"),
    (f"{EVALUATE} {COLUMNS} --relevant 6", "relevant (--relevant) is 6, outside"),
    (f"{EVALUATE} {COLUMNS} --per-user users.txt", "--per-user writes .parquet or .csv"),
    (f"evaluate explicit ghost.csv --history past.csv {COLUMNS}", "row 2: item 'ghost'"),
    (
        f"evaluate explicit stranger.csv --history past.csv {COLUMNS}",
        "none of the 1 test users has a history",
    ),
    (f"evaluate implicit test1.csv --history past.csv {COLUMNS}", "leave out --rating"),
    (
        "evaluate implicit test1.csv --history past.csv --user user --item item --only errors",
        "--only errors: the model was trained without ratings",
    ),
    (f"{ADD} known.csv --out longer", "'item-3' is already in the catalogue"),
    (f"{ADD} repeated.csv --out longer", "repeats the id 'new-1'"),
    (f"{ADD} unlike.csv --out longer", "no column 'genres'"),
    (f"{ADD} new.csv --out explicit", "already has a model"),
    ("add-items explicit new.csv --out longer", "trained without item features"),
    ("export card explicit --out notes.txt", "--out writes .md"),
    ("export card explicit --out no/card.md", "create it first"),
    ("serve explicitly", "did you mean explicit?"),
    ("serve explicit --host 0.0.0.0", "--anyone"),
    ("serve explicit --largest-body 1", "--largest-body"),
    ("serve explicit --token-file absent", "token"),
    ("export table explicit --out none.parquet", "no table of weights"),
    ("report explicit --out explicit/r.html", "must hold the model alone"),
    ("report explicit --test test1.csv", "--ratings is missing"),
    ("statement notes.txt", "not"),
    ("statement explicit --verify key.pem", "needs --key PUBLIC.pem"),
    ("statement explicit --key public.pem", "about --verify, which is missing"),
    ("statement explicit --out x", "about --sign, which is missing"),
    ("statement explicit --verify key.pem --key public.pem --html x", "writes nothing"),
    ("statement explicit --html explicit/s.html", "must hold the model alone"),
    ("statement explicit --sign key.pem --out key.pem", "is the key itself"),
    ("statement explicit --sign public.pem", "not a private key"),
    # Files
    ("split table.csv --user who --by last --out parts", "needs --time"),
    ("split table.csv --user who --time when --out parts", "has no use for --time"),
    ("split table.csv --user who --time-format %d --out parts", "about --time, which is missing"),
    ("split plays.csv --user WHO --out parts", "did you mean 'Who'?"),
    ("split table.csv --user who --test 0.01 --out parts", "would be empty"),
    ("split nowhere.csv --user who --out parts", "cannot be read"),
    ("sample --out . --users 100", "items.csv exists"),
    # Ledgers and audits
    ("ledger show shop.ledger", "there is no ledger"),
    ("ledger cap shop.ledger --lift", "no cap to lift"),
    ("ledger cap shop.ledger --epsilon 3", "--epsilon and --delta"),
    ("ledger plan --epsilon none", "epsilon must be a number"),
    (f"audit als {BUDGET}", "no promise to audit"),
    (f"audit dpal {BUDGET}", "no method 'dpal'"),
    ("audit dpals --epsilon 1", "--delta is missing"),
    (f"audit devices {BUDGET}", "without delta"),
    ("audit devices --epsilon much", "--epsilon and --delta must be numbers, not 'much'"),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, shop: Path) -> Path:
    """A folder with ratings, models, keys, and all the files that are spoilt."""
    folder = tmp_path_factory.mktemp("refusals")
    for name in ("train.csv", "test.csv", "items.csv"):
        (folder / name).write_bytes((shop / name).read_bytes())
    for name, content in FILES.items():
        (folder / name).write_text(content)
    make_model("explicit").save(folder / "explicit")
    make_model("implicit").save(folder / "implicit")
    make_model("explicit", rank=0).save(folder / "flat")
    make_doubtful("explicit").save(folder / "doubtful")
    make_table("ClickTable").save(folder / "clicks")
    (folder / "key.pem").write_bytes(pem(KEY))
    (folder / "public.pem").write_bytes(public_pem(KEY))
    return folder


@pytest.mark.parametrize(("words", "message"), REFUSALS, ids=[one[:60] for one, _ in REFUSALS])
def test_what_cannot_be_done_is_refused_in_a_sentence_and_leaves_nothing(
    refused: Refused, world: Path, monkeypatch: pytest.MonkeyPatch, words: str, message: str
) -> None:
    monkeypatch.chdir(world)
    before = {path: path.stat().st_mtime_ns for path in world.rglob("*")}
    assert message in refused(*shlex.split(words))
    assert {path: path.stat().st_mtime_ns for path in world.rglob("*")} == before


def test_a_run_of_one_user_spends_before_it_knows(run: Run, world: Path, tmp_path: Path) -> None:
    """A private run learns only from its noisy first release that there are too few users."""
    asked = f"train {world}/one-user.csv {STARS} --catalogue {world}/items.csv --goal rate {BUDGET}"
    done = run(*asked.split(), "--out", tmp_path / "model", "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "too small to train" in done.stderr
    assert not (tmp_path / "model").exists()


def test_of_duplicate_pairs_the_last_one_counts(run: Run, tmp_path: Path) -> None:
    rows = pl.DataFrame(
        [(user, f"item-{item}", 1 + (user + item) % 5) for user in range(9) for item in range(3)],
        schema=["user", "item", "stars"],
        orient="row",
    )
    (tmp_path / "ratings.csv").write_text(rows.write_csv() + "0,item-0,5\n0,item-0,1\n")
    asked = f"train {tmp_path}/ratings.csv {STARS} --method als --rank 2 --out {tmp_path}/model --json"
    assert '"ratings": 27' in run(*asked.split()).stdout
