"""What ``discreet train`` refuses, with which words, and that it writes nothing then."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars", "--rating-range", 1, 5)
BUDGET = ("--epsilon", 5, "--delta", "1e-4")
SMALL = ("--rank", 2, "--rounds", 2)

Refused = Callable[..., str]


HEADER = "user,item,stars\n"
FULL = HEADER + "".join(
    f"{user},item-000{item},{1 + (user + item) % 5}\n" for user in range(9) for item in range(1, 4)
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("user,thing,stars\n1,item-0001,3\n", "there is no column 'item'; there is user, thing, stars"),
        (HEADER + "1,item-0001,3\n1,item-0002,7\n", "row 2: the rating 7 is outside 1 to 5"),
        (HEADER + "1,item-0001,0.5\n", "row 1: the rating 0.5 is outside 1 to 5"),
        (
            HEADER + "1,item-0001,3\n2,item-0001,nan\n",
            "row 2: the rating 'nan' in column 'stars' is not a number",
        ),
        (HEADER + "1,item-0001,inf\n", "row 1"),
        (HEADER + "1,item-0001,3\n2,item-0001,\n", "row 2: the rating is missing"),
        (HEADER + "1,item-0001,good\n", "row 1: the rating 'good' in column 'stars' is not a number"),
        (HEADER + "1,item-0001,3\n,item-0001,2\n", "row 2: the user is missing"),
        (HEADER + "1,,3\n", "row 1: the item is missing"),
        (HEADER + "1,item-0001,3\n1,ghost,3\n", "row 2: item 'ghost' is not in the catalogue"),
        (HEADER, "no ratings"),
        ("", "empty"),
    ],
)
def test_unusable_ratings(refused: Refused, shop: Path, tmp_path: Path, content: str, message: str) -> None:
    ratings = tmp_path / "ratings.csv"
    ratings.write_text(content)
    arguments = (*COLUMNS, "--catalogue", shop / "items.csv", *BUDGET, "--out", tmp_path / "model", "--json")
    strict = ("--missing", "error", "--out-of-range", "error", "--unknown-items", "error")
    arguments = (*arguments, *strict)
    assert message in refused("train", ratings, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["ratings.csv"]


def test_of_duplicate_pairs_the_last_one_counts(run: Run, shop: Path, tmp_path: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    ratings.write_text(FULL + "0,item-0001,5\n0,item-0001,1\n")
    arguments = (
        *COLUMNS,
        "--catalogue",
        shop / "items.csv",
        "--method",
        "als",
        *SMALL,
        "--out",
        tmp_path / "model",
    )
    assert json.loads(run("train", ratings, *arguments, "--json").stdout)["holder"]["ratings"] == 27


@pytest.mark.parametrize("method", ["als", "budgeted"])
@pytest.mark.parametrize("who", ["one user", "one item"])
def test_one_user_or_one_item_is_too_little(
    run: Run, shop: Path, tmp_path: Path, method: str, who: str
) -> None:
    """A private run learns only from its noisy first release that there are too few users."""
    ratings, items = tmp_path / "ratings.csv", shop / "items.csv"
    ratings.write_text(
        HEADER + ("1,item-0001,4\n1,item-0002,2\n" if who == "one user" else FULL.split("\n")[1] + "\n")
    )
    if who == "one item":
        ratings.write_text(HEADER + "".join(f"{user},item-0001,{1 + user % 5}\n" for user in range(30)))
        items = tmp_path / "one.csv"
        items.write_text("item\nitem-0001\n")
    budget = () if method == "als" else BUDGET
    arguments = (*COLUMNS, "--catalogue", items, "--method", method, *budget, "--out", tmp_path / "model")
    done = run("train", ratings, *arguments, "--json")
    assert done.exit_code == 2
    words = {
        "one item": "only one item",
        "one user": "only one user" if method == "als" else "too small to train",
    }
    assert words[who] in done.stderr
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (0, "1e-6", "epsilon must be above zero"),
        (-1, "1e-6", "epsilon must be above zero"),
        ("nan", "1e-6", "epsilon is not a number"),
        ("inf", "1e-6", "--method als"),
        ("much", "1e-6", "epsilon must be a number, got 'much'"),
        (1, 0, "delta must be above zero"),
        (1, -1, "delta must be above zero"),
        (1, "nan", "delta is not a number"),
        (1, "inf", "delta must be below 1"),
        (1, "little", "delta must be a number, got 'little'"),
        ("1e-9", "1e-12", "budget"),
    ],
)
def test_impossible_budgets(
    refused: Refused, shop: Path, tmp_path: Path, epsilon: object, delta: object, message: str
) -> None:
    arguments = (*COLUMNS, "--catalogue", shop / "items.csv", "--epsilon", epsilon, "--delta", delta)
    arguments = (*arguments, "--goal", "rate")
    assert message in refused("train", shop / "train.csv", *arguments, "--out", tmp_path / "model", "--json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (BUDGET, "--catalogue FILE, or spend part of the budget on finding them with --discover-items"),
        ((*BUDGET, "--catalogue", "items.csv", "--discover-items"), "exclude each other"),
        ((*BUDGET, "--discover-items", "lots"), "takes a share of the budget such as 0.1, not 'lots'"),
        ((*BUDGET, "--discover-items", "1.5"), "must lie between 0 and 1, not 1.5"),
        ((*BUDGET, "--catalogue", "no-such-file.csv"), "no-such-file.csv"),
        (("--catalogue", "items.csv", "--epsilon", 1), "--delta is missing"),
        (("--catalogue", "items.csv", "--delta", "1e-6"), "--epsilon is missing"),
        (("--method", "als", *BUDGET), "not private and has no use for --epsilon"),
        (("--method", "als", "--discover-items"), "no use for --discover-items"),
        (("--method", "magic"), "there is no method 'magic'; known are ease, budgeted"),
        (("--method", "als", "--rank", "-1"), "-1 is below 0"),
        (("--method", "als", "--rank", "many"), "'many' is neither a whole number nor 'auto'"),
        (("--method", "als", "--rounds", "0"), "0 is below 1"),
        (("--method", "als", "--set", "colour=red"), "colour: no such setting. Known settings"),
        (("--method", "als", "--set", "penalti=.05"), "penalti: no such setting; did you mean penalty"),
        (("--method", "als", "--set", "penalty=-1"), "penalty"),
        (("--method", "als", "--set", "penalty"), "--set takes key=value"),
        (("--method", "als", "--set", "rank=4"), "use --rank instead of --set"),
        (("--method", "als", "--config", "no-such.toml"), "no configuration file no-such.toml"),
        (("--method", "als", "--seed", "-1"), "-1 is not in the range x>=0"),
        (("--method", "als", "--set", "penalty=" + "[" * 100_000), "penalty"),
        (("--method", "als", "--implicit"), "--implicit means that there are no ratings"),
        (("--method", "als", "--devcie", "cpu"), "No such option"),
    ],
)
def test_impossible_requests(
    refused: Refused, shop: Path, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    given = [shop / "items.csv" if argument == "items.csv" else argument for argument in arguments]
    assert message in refused(
        "train", shop / "train.csv", *COLUMNS, *given, "--out", tmp_path / "model", "--json"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("--rating", "stars"), "--rating-range is missing"),
        (("--rating-range", 1, 5), "--rating-range without --rating"),
        (("--rating", "stars", "--rating-range", 5, 1), "must be finite and rise"),
    ],
)
def test_impossible_ranges(
    refused: Refused, shop: Path, tmp_path: Path, columns: tuple[object, ...], message: str
) -> None:
    base = ("train", shop / "train.csv", "--user", "user", "--item", "item", "--method", "als")
    assert message in refused(*base, *columns, "--out", tmp_path / "model", "--json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.toml", "rank = ", "not valid TOML"),
        ("c.json", "{", "not valid JSON"),
        ("c.json", "[" * 100_000, "not valid JSON"),
        ("c.toml", "a = " + "[" * 100_000, "not valid TOML"),
        ("c.toml", "seed = -5", "-5 is not in the range"),
        ("c.json", "[1]", "must hold a table"),
        (
            "c.toml",
            "ranks = 3",
            "unknown ranks; known are accounting, address, allow-dropped, blocks, catalogue, catalogue-column",
        ),
        ("c.toml", "settings = 3", "must be a table of settings"),
        ("c.toml", 'rank = "lots"', "'lots' is neither"),
        ("c.toml", "[settings]\ncolour = 1", "Known settings"),
    ],
)
def test_unusable_configurations(
    refused: Refused, shop: Path, tmp_path: Path, name: str, content: str, message: str
) -> None:
    config = tmp_path / name
    config.write_text(content)
    base = ("train", shop / "train.csv", *COLUMNS, "--method", "als", "--out", tmp_path / "model")
    assert message in refused(*base, "--config", config)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_unusable_place_is_found_before_training(refused: Refused, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    base = ("train", shop / "no-such-file.csv", *COLUMNS, "--method", "als", "--out")
    assert "no model; choose another name" in refused(*base, tmp_path)
    assert "not a directory" in refused(*base, tmp_path / "notes.txt")
    assert "create it" in refused(*base, tmp_path / "missing" / "model")
    assert "no-such-file.csv" in refused(*base, tmp_path / "model")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            COLUMNS,
            ("--method", "svd", "--goal", "rank"),
            "svd predicts ratings and makes no lists; leave --goal or --method out",
        ),
        (COLUMNS, ("--method", "budgeted", "--goal", "rank"), "budgeted predicts ratings and makes no lists"),
        (COLUMNS[:4], ("--method", "budgeted"), "use discreet.EASE (--method ease)"),
        (COLUMNS, ("--method", "popularity", "--goal", "rate"), "--method popularity predicts none"),
        (COLUMNS[:4], ("--goal", "rate"), "there are none without --rating"),
        (COLUMNS, ("--set", "goal=rank"), "use --goal instead of --set"),
        (COLUMNS, ("--goal", "please"), "'please' is not one of"),
    ],
)
def test_goals_that_cannot_be(
    refused: Refused,
    shop: Path,
    tmp_path: Path,
    columns: tuple[object, ...],
    options: tuple[str, ...],
    message: str,
) -> None:
    base = ("train", shop / "train.csv", *columns, "--catalogue", shop / "items.csv", *BUDGET)
    assert message in refused(*base, *options, "--out", tmp_path / "model")
    assert not (tmp_path / "model").exists()
