"""``discreet tune``: what it writes, what it keeps to itself, what it refuses."""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.cli import tune as tune_command
from discreet.methods.tuning import tuning
from discreet.model import Model
from tests.cli.conftest import Run
from tests.cli.test_train_process import on_a_terminal, read_terminal

COLUMNS = ("--user", "user", "--item", "item", "--rating", "stars", "--rating-range", 1, 5)
BUDGET = ("--epsilon", 20, "--delta", "1e-4")
FIELDS = [
    *("method", "goal", "rank", "rounds", "epsilon", "delta", "mu", "releases", "private"),
    *("settings", "score", "mean_trials", "holder"),
]
# Everything that is told. Neither time nor memory is among it: either tells the number of trials.
HOLDER = ["users", "items", "ratings", "dropped", "merged"]

Refused = Callable[..., str]


@pytest.fixture
def space(tmp_path: Path) -> Path:
    file = tmp_path / "space.toml"
    file.write_text(
        'rank = {low = 1, high = 2}\ngrowth = {low = 1.0, high = 2.0}\ncurvature = ["shared", "full"]\n'
    )
    return file


def arguments(shop: Path, *more: object) -> tuple[object, ...]:
    return ("tune", shop / "train.csv", *COLUMNS, "--catalogue", shop / "items.csv", *BUDGET, *more)


def test_a_tuned_model(run: Run, shop: Path, tmp_path: Path, space: Path) -> None:
    out = tmp_path / "model"
    asked = arguments(shop, "--space", space, "--mean-trials", 3, "--rounds", 2, "--out", out, "--json")
    result = run(*asked)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    content = json.loads(result.stdout)
    assert list(content) == FIELDS
    assert list(content["holder"]) == HOLDER
    assert content["method"] == "budgeted"
    assert (content["private"], content["epsilon"], content["delta"]) == (True, 20.0, 1e-4)
    assert content["mean_trials"] == 3.0
    assert content["rounds"] == 2
    assert set(content["settings"]) == {"goal", "rank", "growth", "curvature", "rounds"}
    assert content["settings"]["rank"] in (1, 2)
    assert 1.0 <= content["settings"]["growth"] <= 2.0
    assert 0.3 < content["score"] <= 1.0
    assert content["goal"] == content["settings"]["goal"] == "rank"
    model = Model.load(out)
    assert model.statement.mu == content["mu"]
    assert model.statement.selection is not None
    assert model.settings["growth"] == content["settings"]["growth"]
    assert model.recommend({"item-0001": 5.0}, n=3).items


def test_how_many_trials_there_were_shows_nowhere(
    run: Run, shop: Path, tmp_path: Path, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space.write_text("growth = {low = 1.0, high = 2.0}")
    shown = {}
    for number in (1, 7):
        monkeypatch.setattr(tuning, "draw_trials", lambda mean, number=number: number)
        out = tmp_path / f"model-{number}"
        result = run(*arguments(shop, "--space", space, "--rank", 1, "--rounds", 1, "--out", out, "--json"))
        text = result.stdout + "".join(path.read_text() for path in sorted(out.glob("*.json")))
        # Names of all fields, and whatever else is no number: those differ by noise.
        shown[number] = re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "#", re.sub(r"[0-9a-f]{64}", "", text))
        assert result.stderr == ""
        assert '"trials"' not in text
    assert shown[1] == shown[7]


def test_nothing_that_a_trial_says_leaves(
    run: Run, shop: Path, tmp_path: Path, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warnings, and times of files: both would tell of the trials. What leaves was worth waiting for."""
    calm, noted = tuning._Trial.run, []

    def loud(trial: tuning._Trial, drawn: dict[str, object]) -> tuning._Outcome:
        warnings.warn(f"trial {len(noted)}", stacklevel=1)
        noted.append(time.time())
        return calm(trial, drawn)

    monkeypatch.setattr(tuning._Trial, "run", loud)
    monkeypatch.setattr(tuning, "draw_trials", lambda mean: 3)
    space.write_text("growth = {low = 1.0, high = 2.0}")
    out, began = tmp_path / "model", time.time()
    asked = arguments(shop, "--space", space, "--rank", 1, "--rounds", 1, "--out", out, "--json")
    waited: list[float] = []
    monkeypatch.setattr(tune_command.time, "sleep", waited.append)
    result = run(*asked, "--at-least", 1_000)
    assert len(noted) == 3
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("\n") == 1
    for path in (out, *out.iterdir()):
        assert began - 1e-3 <= path.stat().st_mtime <= noted[0]
    assert len(waited) == 1
    assert 1_000 - (time.time() - began) <= waited[0] <= 1_000


def test_for_people_and_on_a_terminal(shop: Path, tmp_path: Path, space: Path) -> None:
    out = tmp_path / "model"
    asked = arguments(shop, "--space", space, "--mean-trials", 4, "--rounds", 1, "--out", out)
    with on_a_terminal([str(argument) for argument in asked]) as (process, terminal):
        watched = read_terminal(terminal)
        assert process.stdout is not None
        text = process.stdout.read().decode()
        assert process.wait(60) == 0
    assert b"searching settings" in watched
    assert not re.search(rb"\d+/\d+|trial", watched)
    own = text.split("For you alone")[1].splitlines()[1:]
    assert [line.split()[0] for line in own] == HOLDER
    assert not re.search(r"second|rss|memory|took", text.split("Privacy statement")[0] + "".join(own))
    for wanted in ("Tuned", "growth", "score", "for the whole selection", "4 on average", f"Saved to {out}"):
        assert wanted in text


def test_predicted_ratings_are_compared_by_their_errors(
    run: Run, shop: Path, tmp_path: Path, space: Path
) -> None:
    asked = (
        "--space",
        space,
        "--mean-trials",
        1.5,
        "--rounds",
        2,
        "--goal",
        "rate",
        "--out",
        tmp_path / "model",
    )
    content = json.loads(run(*arguments(shop, *asked, "--json")).stdout)
    assert content["goal"] == "rate"
    assert 0.3 < content["score"] < 2.0


def test_json_and_configuration_files(run: Run, shop: Path, tmp_path: Path) -> None:
    searched = tmp_path / "space.json"
    searched.write_text('{"penalty": {"low": 0.01, "high": 1, "log": true}}')
    config = tmp_path / "tune.toml"
    config.write_text(
        f'user = "user"\nitem = "item"\ncatalogue = "{shop / "items.csv"}"\nspace = "{searched}"\n'
        f'mean-trials = 1.5\nepsilon = 20\ndelta = 1e-4\nrank = 1\nrounds = 1\nout = "{tmp_path / "model"}"\n'
        "[settings]\nmoment_share = 0.05\n"
    )
    content = json.loads(run("tune", shop / "train.csv", "--config", config, "--json").stdout)
    assert content["settings"] == {
        "moment_share": 0.05,
        "goal": "rank",
        "rank": 1,
        "rounds": 1,
        "penalty": content["settings"]["penalty"],
    }
    assert 0.0 <= content["score"] <= 1.0
    assert Model.load(tmp_path / "model").item_side.scale.feedback == "implicit"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--trials", 10), "there is no --trials: the best of a fixed number of trials is not private"),
        (("--method", "als"), "--method als is not private"),
        (("--method", "user-mean"), "rank"),
        (("--method", "item-mean", "--rank", 3), "--method item-mean has no rank; leave --rank out"),
        (("--mean-trials", 1), "mean above 1"),
        (("--mean-trials", "many"), "not a valid float"),
        (("--rank", 2), "rank: either searched or fixed"),
        (("--space", "no-such.toml"), "there is no space of settings no-such.toml"),
        (("--discover-items",), "No such option"),
        (("--set", "colour=1"), "Known settings"),
        (("--set", "rank=1"), "use --rank instead of --set"),
        (("--set", "discover_share=0.1"), "discover_share: tuning needs a public catalogue"),
        (("--epsilon", "inf"), "infinite"),
    ],
)
def test_refusals(
    refused: Refused, shop: Path, tmp_path: Path, space: Path, more: tuple[object, ...], message: str
) -> None:
    out = tmp_path / "model"
    assert message in refused(*arguments(shop, "--space", space, *more, "--out", out, "--json"))
    assert [path.name for path in tmp_path.iterdir()] == ["space.toml"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("trials = 10", "a fixed one is not private"),
        ("n_trials = [5]", "a fixed one is not private"),
        ('sampler = "tpe"', "TPE and the like"),
        ("", "empty"),
        ("rank = ", "not valid TOML"),
        ("rank = 3", "give a list of choices, or a range such as {low = 1, high = 8}"),
        ("colour = [1, 2]", "Known settings"),
        ("discover_share = [0.1]", "tuning needs a public catalogue"),
    ],
)
def test_unusable_spaces(refused: Refused, shop: Path, tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "space.toml"
    file.write_text(content)
    assert message in refused(*arguments(shop, "--space", file, "--out", tmp_path / "model"))
    assert [path.name for path in tmp_path.iterdir()] == ["space.toml"]


def test_what_is_needed(refused: Refused, shop: Path, tmp_path: Path, space: Path) -> None:
    base = ("tune", shop / "train.csv", *COLUMNS, "--space", space, "--out", tmp_path / "model")
    assert "tuning needs a public list of items" in refused(*base, *BUDGET)
    assert "--epsilon is missing" in refused(*base, "--catalogue", shop / "items.csv")
    assert "Missing option '--space'" in refused(*arguments(shop, "--out", tmp_path / "model"))
