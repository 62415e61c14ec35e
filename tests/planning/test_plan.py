"""Plans: made-up markets of the sizes asked for, noise that stays the same for each user, and words that fit."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import discreet
from discreet.cli import main
from discreet.data.splits import by_rating
from discreet.errors import SettingsInvalid
from discreet.evaluation import evaluate_ratings
from discreet.planning import Outcome, Plan, Sizes, recommendation, reservations
from discreet.planning.simulation import budget_for_fewer, simulated_users
from discreet.planning.worlds import TEMPERS, draw_market
from discreet.privacy.accounting import mu_from
from discreet.privacy.gaussian.noise import Noise

# Fewer users would now and then be lost in the noise at epsilon 1, and nothing trained.
SMALL = ["--users", "800", "--items", "60", "--ratings-per-user", "12", "--epsilon", "1,100", "--quick"]


@pytest.fixture(scope="module")
def rated() -> Plan:
    return discreet.plan(800, 60, 12, goal="rate", epsilons=(100.0, 1.0), quick=True)


def test_a_market_has_the_sizes_and_the_spread_that_were_asked_for() -> None:
    sizes = Sizes(3_000, 400, 40.0, (1.0, 5.0), "rate", head_share=0.6)
    for temper in TEMPERS:
        market = draw_market(sizes, sizes.users, temper, seed=1)
        counts = np.sort(np.bincount(market.items, minlength=400))[::-1]
        assert (market.n_users, market.n_items, market.n_ratings) == (3_000, 400, 120_000)
        assert counts[:80].sum() / counts.sum() == pytest.approx(0.6, abs=0.02)
        assert set(np.unique(market.values)) == {1.0, 2.0, 3.0, 4.0, 5.0}
        assert market.values.std() / 4.0 == pytest.approx(temper.spread, rel=0.05)
    wide = draw_market(replace(sizes, rating_range=(-10.0, 10.0), spread=4.5), 3_000, TEMPERS[1], seed=1)
    assert wide.values.std() == pytest.approx(4.5, rel=0.05)
    assert -10.0 <= wide.values.min() < -9.0
    clicks = draw_market(Sizes(500, 50, 10.0, None), 500, TEMPERS[1], seed=1)
    assert not clicks.explicit


def test_fewer_users_have_as_much_noise_for_each_user() -> None:
    """A sum over n users has the noise D / mu: divided by n it is the same where mu n is."""
    budget = discreet.Budget(2.0, 1e-6)
    fewer = budget_for_fewer(budget, 8.0)
    assert mu_from(fewer.epsilon, 1e-6) == pytest.approx(8.0 * mu_from(2.0, 1e-6), rel=1e-9)
    assert budget_for_fewer(budget, 1.0) is budget


@pytest.mark.slow
def test_a_reduced_market_gives_the_error_of_the_whole_one() -> None:
    """Fewer users of one and the same market; noise with fixed keys, so that nothing here is left to chance."""
    sizes, budget = Sizes(8_000, 60, 12.0, (1.0, 5.0), "rate"), discreet.Budget(0.3, 1e-6)
    train, test = by_rating(draw_market(sizes, 8_000, TEMPERS[1], seed=1), (0.9, 0.1), rng=1)

    def error(users: int, spent: discreet.Budget) -> float:
        part, found = train.take_users(slice(0, users)), []
        for key in range(3):
            method = discreet.BudgetedALS()
            model = method.fit(part, spent, rng=0, noise=Noise.fixed_key_not_private(f"key {key}")).model_
            found.append(evaluate_ratings(model, train, test).rmse)
        return float(np.mean(found))

    whole = error(8_000, budget)
    scaled, unscaled = error(2_000, budget_for_fewer(budget, 4.0)), error(2_000, budget)
    assert scaled == pytest.approx(whole, rel=0.01)
    assert unscaled > 1.01 * whole


def test_many_users_are_simulated_by_fewer_and_that_is_said() -> None:
    sizes = Sizes(1_000_000, 5_000, 50.0)
    assert simulated_users(sizes) == 24_000
    assert simulated_users(sizes, quick=True) == 4_000
    assert simulated_users(Sizes(6_040, 3_706, 166.0)) == 6_040
    outcome = Outcome("x", None, (0.1, 0.2))
    plan = Plan(sizes, 1e-6, 24_000, ("a", "b"), (outcome,), outcome, (), 1.0)
    assert any(
        "24,000 of 1,000,000 users" in line and "41.7 times less noise" in line for line in reservations(plan)
    )


def test_numbers_of_a_plan(rated: Plan) -> None:
    assert [one.epsilon for one in rated.private] == [1.0, 100.0]
    told = rated.to_dict()
    assert told["measure"] == "rmse"
    assert told["simulated"] == {
        "users": 800, "noise_divided_by": 1.0, "markets": ["little taste", "usual taste", "much taste"],
    }  # fmt: skip
    assert [one["name"] for one in told["baselines"]] == ["global mean", "user mean"]
    for one in [*told["baselines"], told["not_private"], *told["private"]]:
        assert one["lowest"] <= one["mean"] <= one["highest"]
        assert one["mean"] == pytest.approx(np.mean(one["markets"]))
        assert 0.3 < one["mean"] < 1.5
    assert told["private"][1]["mean"] <= told["private"][0]["mean"] + 0.01
    again = discreet.plan(800, 60, 12, goal="rate", epsilons=(1.0,), quick=True)
    assert again.baselines == rated.baselines, "the same markets, whatever is asked of them"


def _plan(base: float, plain: float, private: dict[float, float], goal: str = "rank") -> Plan:
    sizes = Sizes(1_000, 100, 20.0, goal=goal)  # type: ignore[arg-type]
    outcome = lambda name, score, e=None: Outcome(name, e, (score, score))  # noqa: E731
    rows = tuple(outcome(f"epsilon {e:g}", score, e) for e, score in private.items())
    return Plan(
        sizes,
        1e-6,
        1_000,
        ("a", "b"),
        (outcome("popularity", base),),
        outcome("not private", plain),
        rows,
        1.0,
    )


def test_memory_and_seconds_are_those_of_a_measured_training() -> None:
    """60,000 people with 7.5 million clicks, of whom a fifth is simulated: 1.4 GB were measured at a head of 6,000."""
    some = replace(_plan(0.2, 0.4, {}), sizes=Sizes(60_000, 12_000, 125.0, None), simulated_users=12_000)
    outcome = Outcome("epsilon 20", 20.0, (0.3, 0.3), 6_000, 40.0)
    assert some.memory_mb(outcome) == pytest.approx(1_420, rel=0.1)
    assert some.seconds_of(outcome) == pytest.approx(40.0 + 48_000 * 125.0**2 / 5e8)
    assert some.memory_mb(Outcome("popularity", None, (0.2, 0.2))) is None


def test_the_recommendation_follows_from_the_numbers() -> None:
    words = " ".join(recommendation(_plan(0.2, 0.4, {0.5: 0.15, 1.0: 0.19, 5.0: 0.31, 20.0: 0.39})))
    assert "Up to epsilon 1 a private model is no better than popularity" in words
    assert "From epsilon 5 on it is better than popularity in every market" in words
    assert "From epsilon 5 on it has gone half of the way" in words
    assert "From epsilon 20 on it has gone nine tenths" in words
    assert "A place to start: epsilon 5." in words
    less = float(re.search(r"would cost epsilon ([\d.]+)\.", words)[1])  # type: ignore[index]
    assert mu_from(less, 1e-6) == pytest.approx(mu_from(5.0, 1e-6) / 2.0, rel=0.05)
    never = recommendation(_plan(0.2, 0.4, {1.0: 0.1, 5.0: 0.19}))
    assert never == [
        "Up to epsilon 5 a private model is no better than popularity. Do not train at these budgets: get more users."
    ]
    assert "Even without privacy" in recommendation(_plan(0.2, 0.1, {1.0: 0.1}))[0]
    rated = recommendation(_plan(1.0, 0.8, {1.0: 1.1, 5.0: 0.85}, "rate"))
    assert rated[0].startswith("Up to epsilon 1 a private")


def test_the_command_gives_table_picture_and_json(tmp_path: Path) -> None:
    file = tmp_path / "plan.svg"
    done = CliRunner().invoke(main, ["plan", *SMALL, "--clicks", "--json", "--picture", str(file)])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["rating_range"] is None
    assert told["measure"] == "recall@20"
    assert [one["name"] for one in told["baselines"]] == ["popularity"]
    assert told["recommendation"]
    assert told["reservations"][0].startswith("No rating was read")
    least, most = told["private"]
    assert 2 <= least["head"] <= most["head"] <= 60
    for one in (least, most):
        pairs = one["head"] * (one["head"] - 1) / 2
        assert one["memory_mb"] == pytest.approx(250 + (36 * 800 * 12 + 48 * pairs) / 1e6)
        assert 0.0 < one["seconds"] < 600.0
    assert all(math.isfinite(one["mean"]) for one in told["private"])
    text = file.read_text()
    assert ET.fromstring(text).tag.endswith("svg")
    assert set(re.findall(r"https?://[^'\" ]+", text)) == {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--goal", "rate", "--clicks"], "there is nothing to predict"),
        (["--rating-range", "5", "1"], "must rise"),
        (["--clicks", "--rating-range", "1", "5"], "leave one out"),
        (["--epsilon", "one"], "takes numbers such as"),
        (["--epsilon", "0"], "above zero"),
        (["--head-share", "0.1"], "0.2 (all items alike)"),
        (["--spread", "9"], "does not fit ratings from 1 to 5"),
        (["--picture", "plan.png"], "--picture writes .svg"),
        (["--ratings-per-user", "59"], "do not fit 60 items"),
    ],
)
def test_refusals_are_in_words(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(main, ["plan", *SMALL, *arguments])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_sizes_that_make_no_market_are_refused() -> None:
    with pytest.raises(SettingsInvalid, match="at least 100 users"):
        Sizes(10, 60, 5.0)
    with pytest.raises(SettingsInvalid, match="at least one epsilon"):
        discreet.plan(800, 60, 12, epsilons=())
