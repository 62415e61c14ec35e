"""A list from the service is the list of the model, whichever rule folds people in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.errors import HistoryInvalid
from discreet.model import Model
from discreet.web.prepared import Prepared
from discreet.web.requests import Rated, RecommendRequest
from tests.web.support.models import RULES, TABLES, make_model, random_history


def asked(model: Model, history: dict[str, float], **more: Any) -> RecommendRequest:
    explicit = model.item_side.scale.explicit
    liked = {item: rating for item, rating in history.items() if rating > 0.0}
    entries = [Rated(item=item, rating=rating if explicit else None) for item, rating in liked.items()]
    return RecommendRequest(history=entries, disliked=[item for item in history if item not in liked], **more)


@pytest.mark.parametrize("kind", [*RULES, *TABLES])
def test_lists_asked_for_together_are_those_of_the_model_one_by_one(kind: str) -> None:
    model = make_model(kind)
    prepared = Prepared(model, "digest")
    rng = np.random.default_rng(1)
    options: list[dict[str, Any]] = [
        {},
        {"n": 3},
        {"n": 25, "exclude_seen": False},
        {"n": 4, "allowed": [f"film-{number}" for number in range(0, 300, 7)]},
        {"blocked": [f"film-{number}" for number in range(100)]},
        {"n": 300},
    ]
    given = [(random_history(model, rng), options[number % len(options)]) for number in range(42)]
    found = prepared.recommend([prepared.person(asked(model, history, **more)) for history, more in given])
    for (history, more), answer in zip(given, found, strict=True):
        expected = model.recommend(history, **{"n": 10, **more})
        assert answer.items == expected.items
        assert answer.shortfall == expected.shortfall
        for mine, theirs in zip(answer, expected, strict=True):
            assert mine.score == pytest.approx(theirs.score, rel=1e-9)
            assert (mine.title, mine.mark) == (theirs.title, theirs.mark)


def test_what_cannot_be_answered_is_refused_in_words() -> None:
    prepared = Prepared(make_model("Clicks", doubt=False), "digest")
    with pytest.raises(HistoryInvalid, match="without ratings"):
        prepared.person(RecommendRequest(history=[Rated(item="film-1", rating=4.0)]))
    with pytest.raises(HistoryInvalid, match="catalogue does not have"):
        prepared.person(RecommendRequest(history=[Rated(item="absent")]))
    dropped = prepared.person(RecommendRequest(history=[Rated(item="absent")], unknown_items="drop"))
    assert prepared.recommend([dropped])[0].ignored == 1


def test_what_is_not_for_somebody_counts_as_the_lowest_rating() -> None:
    prepared = Prepared(make_model("Table"), "digest")
    (low,) = prepared.recommend([prepared.person(asked(prepared.model, {"film-3": 5.0, "film-7": 1.0}))])
    request = RecommendRequest(history=[Rated(item="film-3", rating=5.0)], disliked=["film-7"])
    assert prepared.recommend([prepared.person(request)])[0].items == low.items
    factors = Prepared(make_model("Clicks", doubt=False), "digest")
    with pytest.raises(HistoryInvalid, match="cannot tell what somebody does not like"):
        factors.person(RecommendRequest(history=[], disliked=["film-7"]))


def test_search_finds_words_in_any_order_case_and_accent() -> None:
    prepared = Prepared(make_model("Ridge"), "digest")
    (only,) = prepared.search.find("299 PELICULA")
    assert prepared.items([only]) == [{"item": "film-299", "title": "The Película number 299"}]
    assert prepared.search.find("nothing like it") == []
    assert len(prepared.search.find("")) == 300
    assert prepared.items(prepared.search.find("number 12"))[0]["item"] == "film-12"  # and not 120
    ones = [entry["title"] for entry in prepared.items(prepared.search.find("number 1"))]
    assert len(ones) == 138  # those with a 1 somewhere; the 111 that begin with one come first
    assert all("number 1" in str(title) for title in ones[:111])
