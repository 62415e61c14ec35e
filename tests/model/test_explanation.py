"""A score is the sum of its parts, for every way to fold a person in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from discreet.cli import main
from tests.web.support.models import RULES, TABLES, make_model, random_history


def whole(told: dict) -> float:
    return sum(told["terms"].values()) + sum(pull["total"] for pull in told["history"])


@pytest.mark.parametrize("kind", [*RULES, *TABLES])
def test_the_parts_add_up_to_the_score(kind: str) -> None:
    model, rng = make_model(kind), np.random.default_rng(1)
    explicit = model.item_side.scale.explicit
    for _ in range(15):
        history, item = random_history(model, rng), str(rng.choice(model.catalogue.ids))
        found = model.explain(history, item)
        score = float(model.predict(history, [item])[0])
        assert found.score == score
        assert abs(whole(found.to_dict()) - score) < 1e-9
        assert {pull.item: pull.rating for pull in found} == {
            one: rating if explicit or rating < 0.0 else None for one, rating in history.items()
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
    assert found.rest == pytest.approx(found.score - found.centre - found.offset, abs=1e-12)
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


def test_the_command_says_what_the_model_says(tmp_path: Path) -> None:
    model = make_model("Opinions")
    folder = model.save(tmp_path / "model")
    history = {"film-3": 5.0, "film-50": 2.0}
    (tmp_path / "mine.json").write_text(json.dumps(history))
    arguments = ["explain", str(folder), "--history", str(tmp_path / "mine.json")]
    told = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    first = model.recommend(history, 1)[0]
    assert told == json.loads(json.dumps(model.explain(history, first.item).to_dict()))
    assert abs(whole(told) - told["score"]) < 1e-9
    shown = CliRunner().invoke(main, [*arguments, "--item", "film-9", "-n", "1"])
    assert shown.exit_code == 0
    assert "Why The Película number 9?" in shown.stdout
    assert "1 more ratings together" in shown.stdout
