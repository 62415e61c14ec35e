"""Random search."""

from __future__ import annotations

import math
from typing import Any

import pytest

from discreet.errors import SettingsInvalid
from reproduction.tuning import choice, log_integer, log_uniform, search

SPACE = {"penalty": log_uniform(0.1, 100.0), "rank": log_integer(2, 64), "exponent": choice((0.0, 0.5, 1.0))}


def make(**settings: Any) -> dict[str, Any]:
    return settings


def error(settings: dict[str, Any]) -> float:
    return abs(math.log(settings["penalty"])) + settings["rank"] / 64


def test_given_settings_count_as_trials_and_come_first() -> None:
    given = {"penalty": 1.0, "rank": 0, "exponent": 0.0}
    found = search(make, SPACE, 4, error, 0, first=[given])
    assert found.settings == given


def test_refused_settings_cannot_win() -> None:
    def picky(settings: dict[str, Any]) -> float:
        if settings["rank"] > 5:
            raise SettingsInvalid("too large")
        return float(settings["rank"])

    found = search(make, SPACE, 20, picky, 1, lower_is_better=False)
    assert found.settings["rank"] <= 5


def test_nothing_usable_is_an_error() -> None:
    with pytest.raises(SettingsInvalid, match="none of 3 trials"):
        search(make, SPACE, 3, lambda settings: math.nan, 0)
    with pytest.raises(SettingsInvalid, match="not enough"):
        search(make, SPACE, 1, error, 0, first=[{}, {}])
