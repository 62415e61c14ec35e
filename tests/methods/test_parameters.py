"""Parameters of an estimator: scikit-learn's own tools, words for old names, words for what is not there yet."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pandas as pd
import polars as pl
import pytest

from discreet import ALS, Budget, FrankWolfe
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.methods.public.parameters import Estimator
from discreet.methods.registry import METHODS


@pytest.mark.parametrize("name", METHODS)
def test_a_frame_is_refused_with_the_way_to_make_ratings_of_it(name: str) -> None:
    columns = {"user": [1, 1, 2], "item": [1, 2, 2], "rating": [5.0, 3.0, 1.0]}
    frames: tuple[Any, ...] = (pd.DataFrame(columns), pl.DataFrame(columns), columns, None)
    for frame in frames:
        with pytest.raises(
            RatingsInvalid, match=rf"not {type(frame).__name__}; make them with discreet.Ratings.from_frame"
        ):
            METHODS[name]().fit(frame, *([] if name == "als" else [Budget(5.0, 1e-6)]))


@pytest.mark.parametrize(
    ("cls", "name", "said"),
    [
        (ALS, "penalti", "penalti: no such setting; did you mean penalty"),
        (ALS, "offset_penality", "did you mean offset_penalty"),
        (ALS, "colour", r"colour: no such setting\. Known settings: count_exponent, goal"),
        # It has no penalty, so it must not be sent there.
        (FrankWolfe, "factor_penalty", r"factor_penalty: no such setting\. Known settings"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_that_the_method_has(
    cls: type[Estimator], name: str, said: str
) -> None:
    with pytest.raises(SettingsInvalid, match=said) as caught:
        cls(**{name: 1.0})
    assert "Extra inputs" not in str(caught.value)
    with pytest.raises(SettingsInvalid, match=said):
        cls().set_params(**{name: 1.0})


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_is_checked_and_documented_once(name: str) -> None:
    """Neither no number nor an object; and its words stand in the settings class alone."""
    cls = METHODS[name]
    for key in cls().get_params():
        for wrong in (float("nan"), float("inf"), object(), "no such choice"):
            with pytest.raises(SettingsInvalid, match=key):
                cls(**{key: wrong})
    shown = inspect.getdoc(cls) or ""
    named = [
        one for line in shown.split("\n") if re.fullmatch(r"\w+(, \w+)*", line) for one in line.split(", ")
    ]
    assert sorted(set(named) & set(cls().get_params())) == sorted(cls().get_params())
    assert len([one for one in named if one in cls().get_params()]) == len(cls().get_params())
    assert cls.settings_type.in_words() in shown
