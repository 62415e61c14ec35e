"""Contests between methods: equal tuning, honest ratios, findings that can say no."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet import Budget
from discreet.data import splits, synthetic
from discreet.methods.published.private.dpals import DPALS
from reproduction import Context
from reproduction.central import contest as rivals
from reproduction.central.contest import OURS, Contest, Entry, Rival, checks
from reproduction.scoring import Draws
from reproduction.tuning import choice


def yardstick(value: float) -> Draws:
    return Draws((value,))


def entry(method: str, epsilon: float, value: float) -> Entry:
    return Entry(method, epsilon, Draws((value,)), {})


@pytest.fixture(scope="module")
def contest() -> Contest:
    ratings = synthetic.market(800, 60, 12_000, rng=0)
    train, valid, test = splits.by_rating(ratings, (0.8, 0.1, 0.1), rng=0)
    return Contest(Context("quick"), train, valid, test, 1e-6, trials=3, draws=2)


def test_every_rival_has_the_same_number_of_trials_and_the_best_is_kept(contest: Contest) -> None:
    made: list[dict[str, Any]] = []

    def watched(**settings: Any) -> DPALS:
        made.append(settings)
        return DPALS(**settings)

    rival = Rival(
        watched, {"penalty": choice((5.0, 20.0))}, {"rank": 2, "max_ratings": 10}, [{"penalty": 1e6}]
    )
    found = contest.enter("watched", rival, 100.0)
    assert len(made) == contest.trials + contest.draws
    assert made[0]["penalty"] == 1e6
    assert found.settings["penalty"] < 1e6  # a penalty that leaves nothing but the mean cannot win
    assert len(found.value.values) == 2
    assert made[-1] == {"rank": 2, "max_ratings": 10, **found.settings}


def test_the_published_noise_of_frank_wolfe_spends_a_fraction_of_the_budget() -> None:
    """At its paper's scale L^2 sqrt(64 T ln(1/delta)) / epsilon, mu is far below what epsilon allows."""
    ratings = synthetic.market(1_000, 50, 12_000, rng=0)
    rival = rivals.noise_as_published(entry=2.0, max_ratings=20, rounds=2, nuclear_scale=1.0)
    statement = rival.fit(ratings, Budget(1.0, 1e-5), rng=0).statement_
    assert statement.mu == pytest.approx(1.0 / np.sqrt(128.0 * np.log(1e5)), rel=1e-3)
    assert statement.epsilon < 0.2


def test_a_contest_checks_its_yardstick_and_that_more_budget_does_not_harm() -> None:
    entries = [
        ({"users": 10}, entry(OURS, 1.0, 0.5)),
        ({"users": 10}, entry(OURS, 20.0, 0.4)),
        ({"users": 10}, entry("rival", 1.0, 0.6)),
    ]
    assert [f.agrees for f in checks(entries, {"10 users": yardstick(0.3)})] == [True, True]
    harmed = [*entries, ({"users": 10}, entry(OURS, 40.0, 0.45))]
    said = checks(harmed, {"10 users": yardstick(0.42)})
    assert [f.agrees for f in said] == [False, False]
    assert "budgeted ALS (ours) at epsilon 20, 10 users (0.4000 against 0.4200)" in said[0].observed
    assert "10 users: 0.4000 at epsilon 20, 0.4500 at 40" in said[1].observed
