"""A whole run in one process: the same parts, the same statements, and wrong use that says what to do."""

from __future__ import annotations

from typing import Any

import pytest

import discreet
from discreet import Budget, Ratings
from discreet.data.synthetic import market
from discreet.methods.registry import METHODS

BUDGET = Budget(8.0, 1e-5)
RATINGS = market(900, 30, 7_000, rng=0)
PARTS = [RATINGS.take_users(slice(start, start + 300)) for start in (0, 300, 600)]


@pytest.mark.parametrize("method", [None, discreet.DPALS(rank=3, max_ratings=8), discreet.Popularity()])
def test_any_method_is_trained_on_silos_and_every_silo_can_say_what_it_paid(method: Any) -> None:
    fitted = discreet.silos.fit(PARTS, BUDGET, method=method, honest=2, rng=3)
    model = fitted.model_
    assert model.method == ("ease" if method is None else type(method).public_half.name)
    assert model.statement.private
    assert model.statement.model == "silos"
    silos = model.statement.silos
    assert silos is not None
    assert (silos.count, silos.honest, silos.noise) == (3, 2, "shares")
    assert silos.epsilon_in_two > 2 * BUDGET.epsilon
    # That a silo of one is refused tells a silo of two from it.
    assert any("at least two users" in entry for entry in model.statement.not_protected)
    assert list(fitted.statements_) == ["silo-1", "silo-2", "silo-3"]
    for own in fitted.statements_.values():
        assert [release.mu for release in own.releases] == [
            release.mu for release in model.statement.releases
        ]
    assert fitted.rounds_ == len(model.statement.releases)
    history = {} if model.item_side.scale.explicit else []
    assert len(model.recommend(history, n=5)) == 5


def test_silos_have_names_of_their_own_and_a_server_may_be_trusted() -> None:
    named = dict(zip(("north", "south", "east"), PARTS, strict=True))
    fitted = discreet.silos.fit(named, BUDGET, method=discreet.ItemMean(), noise="server")
    assert list(fitted.statements_) == ["east", "north", "south"]
    assert fitted.statement_.silos.noise == "server"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("silos", "options", "words"),
    [
        (RATINGS, {}, "a list of discreet.Ratings"),
        ([], {}, "there is no silo"),
        ([RATINGS, "ratings.csv"], {}, "silo-2 has str where discreet.Ratings"),
        (PARTS, {"budget": 5.0}, "budget=discreet.Budget"),
        (PARTS, {"method": "budgeted"}, "such as discreet.EASE"),
        (PARTS, {"method": discreet.UserMean()}, "asks nothing"),
        (PARTS, {"honest": 4}, "4 honest silos were asked for"),
    ],
)
def test_wrong_use_says_what_to_do(silos: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(discreet.DiscreetError, match=words):
        discreet.silos.fit(silos, **({"budget": BUDGET} | options))


def test_silos_over_different_items_are_refused() -> None:
    other = market(300, 31, 2_500, rng=1)
    with pytest.raises(discreet.Refused, match="not the one agreed on"):
        discreet.silos.fit([PARTS[0], other], BUDGET)


def test_every_registered_private_method_of_sums_has_a_public_half_that_silos_find() -> None:
    from discreet.methods.lookup import PUBLIC_HALVES, find_public_half

    private = {name for name, method in METHODS.items() if issubclass(method, discreet.PrivateMethod)}
    assert private == set(PUBLIC_HALVES)
    assert all(METHODS[name].public_half is find_public_half(name) for name in PUBLIC_HALVES)  # type: ignore[union-attr]
    assert isinstance(RATINGS, Ratings)
