"""A score is the sum of its parts, for every way to fold a person in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli import main
from discreet.data.synthetic import market
from discreet.model import Model
from tests.web.support.models import RULES, make_model, random_history


def whole(told: dict) -> float:
    return sum(told["terms"].values()) + sum(pull["total"] for pull in told["history"])


@pytest.mark.parametrize("kind", RULES)
def test_the_parts_add_up_to_the_score(kind: str) -> None:
    model, rng = make_model(kind), np.random.default_rng(1)
    for _ in range(40):
        history = random_history(model, rng)
        item = str(rng.choice(model.catalogue.ids))
        found = model.explain(history, item)
        score = float(model.predict(history, [item])[0])
        assert found.score == score
        assert abs(whole(found.to_dict()) - score) < 1e-9
        assert {pull.item: pull.rating for pull in found} == {
            one: rating if model.item_side.scale.explicit else None for one, rating in history.items()
        }


@pytest.mark.parametrize("kind", [kind for kind in RULES if kind not in ("Clicks", "Opinions")])
def test_nothing_is_left_over_where_only_ratings_count(kind: str) -> None:
    """The sum alone would also hold if everything were called the rest."""
    model, rng = make_model(kind), np.random.default_rng(2)
    for _ in range(20):
        found = model.explain(random_history(model, rng), "film-7")
        assert abs(found.rest) < (1e-4 if kind == "NonNegative" else 1e-12)


def test_the_rest_of_clicks_is_what_an_empty_history_says() -> None:
    model = make_model("Clicks")
    found = model.explain([], "film-3")
    assert found.pulls == ()
    assert found.rest == pytest.approx(found.score - found.before, abs=1e-12)
    assert abs(found.rest) > 1e-6


def test_a_rating_of_what_is_expected_adds_nothing_and_twice_the_surprise_adds_twice() -> None:
    """Linear in each rating: what a fold-in's solve makes of it."""
    model = make_model("Ridge")
    side = model.item_side
    place = int(np.argmin(np.abs(side.offsets)))
    film, middle = str(model.catalogue.ids[place]), float(side.centre + side.offsets[place])
    others = {"film-10": 4.0, "film-20": 2.0}

    def total(rating: float) -> float:
        return next(p.total for p in model.explain({**others, film: rating}, "film-99") if p.item == film)

    assert total(middle) == pytest.approx(0.0, abs=1e-12)
    assert total(middle + 1.0) == pytest.approx(2.0 * total(middle + 0.5), rel=1e-9)
    assert total(middle - 1.0) == pytest.approx(-total(middle + 1.0), rel=1e-9)


@pytest.fixture(scope="module")
def trained() -> dict[str, Model]:
    ratings = market(1_500, 120, 45_000, rng=3, lift=1.5)
    budget = discreet.Budget(50.0, 1e-6)
    fit = discreet.BudgetedALS(rank=4).fit(ratings, budget, rng=0)
    clicks = discreet.ALS(goal="rank", rank=4).fit(ratings, rng=0)
    return {"rate": fit.model_, "rank": clicks.model_}


def test_without_its_largest_pull_the_score_goes_the_other_way(trained: dict[str, Model]) -> None:
    model, rng, moved = trained["rate"], np.random.default_rng(4), []
    ids = model.catalogue.ids
    for _ in range(150):
        chosen = rng.choice(ids, 13, replace=False).tolist()
        history = {one: float(rng.integers(1, 6)) for one in chosen[1:]}
        found = model.explain(history, chosen[0])
        largest = found.pulls[0]
        del history[largest.item]
        after = model.explain(history, chosen[0])
        moved.append(np.sign(largest.total) * ((found.score - found.cut) - (after.score - after.cut)))
    assert np.mean(moved) > 0.0
    assert np.mean(np.array(moved) > 0.0) > 0.9


def test_an_item_alike_that_was_liked_pulls_up(trained: dict[str, Model]) -> None:
    """Sign: a high rating of what is most alike pulls up, a low one down."""
    model = trained["rate"]
    up = down = 0
    learnt = model.catalogue.ids[np.any(model.item_side.factors, axis=1)].tolist()
    assert len(learnt) > 100
    for item in learnt[:40]:
        other = next(iter(model.similar(item, 1))).item
        up += model.explain({other: 5.0}, item).pulls[0].taste > 0.0
        down += model.explain({other: 1.0}, item).pulls[0].taste < 0.0
    assert min(up, down) >= 38


def test_the_command_says_what_the_model_says(trained: dict[str, Model], tmp_path: Path) -> None:
    model = trained["rank"]
    folder = model.save(tmp_path / "model")
    history = {"item-0003": 5.0, "item-0050": 2.0}
    (tmp_path / "mine.json").write_text(json.dumps(history))
    arguments = ["explain", str(folder), "--history", str(tmp_path / "mine.json")]
    told = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    first = next(iter(model.recommend(history, 1)))
    assert told["item"] == first.item
    assert told == json.loads(json.dumps(model.explain(history, first.item).to_dict()))
    assert abs(whole(told) - told["score"]) < 1e-9
    shown = CliRunner().invoke(main, [*arguments, "--item", "item-0009", "-n", "1"])
    assert shown.exit_code == 0
    assert "Why item-0009?" in shown.stdout
    assert "1 more ratings together" in shown.stdout


def test_refusals_are_in_words(trained: dict[str, Model], tmp_path: Path) -> None:
    folder = trained["rank"].save(tmp_path / "model")
    (tmp_path / "mine.json").write_text('{"item-0003": 5}')
    (tmp_path / "many.csv").write_text("user,item,rating\na,item-0003,5\nb,item-0004,4\n")
    for arguments, words in (
        (["--history", str(tmp_path / "mine.json"), "--item", "nothing"], "does not have: 'nothing'"),
        (["--history", str(tmp_path / "many.csv")], "name one of them with --user ID"),
        (["--history", str(tmp_path / "mine.json"), "--user", "a"], "does not tell users apart"),
    ):
        done = CliRunner().invoke(main, ["explain", str(folder), *arguments])
        assert done.exit_code == 2
        assert words in " ".join(done.output.split())
