"""What the model does not know: standard errors, similarity that shrinks, items of which nothing was learnt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.catalogue import Catalogue, RatingScale
from discreet.data.ratings import Ratings
from discreet.errors import HistoryInvalid, ModelInvalid, SettingsInvalid
from discreet.model import Model
from discreet.model.doubt import Doubt
from discreet.model.fold_in import OwnMean, Ridge
from discreet.model.item_side import ItemSide
from discreet.model.recommendations import SAME_ORDER
from discreet.privacy.statement import Statement
from tests.model.models import STATEMENT, covariance_of, make_doubtful, make_model

HISTORIES: dict[str, Any] = {"explicit": {"item-2": 5.0, "item-9": 1.5}, "implicit": [20, 90]}


@pytest.fixture(params=["explicit", "implicit"])
def doubtful(request: pytest.FixtureRequest) -> Model:
    return make_doubtful(request.param)


def history_of(model: Model) -> Any:
    return HISTORIES["explicit" if model.item_side.scale.explicit else "implicit"]


def doubt_of(model: Model) -> Doubt:
    assert model.item_side.doubt is not None
    return model.item_side.doubt


@pytest.mark.parametrize("rule", [Ridge(), OwnMean(np.ones(1))])
def test_a_standard_error_is_how_much_predictions_vary_with_the_item(rule: Any) -> None:
    """Draw one item from its posterior many times, and predict it for one user with an offset of their own."""
    rng = np.random.default_rng(0)
    draws, rank = 40_000, 2
    root = rng.normal(size=(1 + rank, 1 + rank))
    doubt = Doubt(np.array([0.3]), root, prior=np.array([0.1, 1.0, 5.0]))
    drawn = rng.multivariate_normal(np.zeros(1 + rank), covariance_of(doubt, 0), draws)
    many = replace(rule, share=np.ones(draws)) if isinstance(rule, OwnMean) else rule
    side = ItemSide(RatingScale((-1e6, 1e6)), 0.0, drawn[:, 0], drawn[:, 1:], many)
    coefficients = np.array([[3.0, 0.7, -1.2]])
    predicted = side.predict(coefficients, np.zeros(draws, dtype=np.int64), np.arange(draws))
    error = doubt.standard_errors(coefficients, np.array([[0]]))[0, 0]
    assert error == pytest.approx(predicted.std(), rel=0.02)


def test_recommendations_have_standard_errors_when_asked_in_the_same_order(doubtful: Model) -> None:
    history = history_of(doubtful)
    plain, asked = doubtful.recommend(history, 6), doubtful.recommend(history, 6, standard_errors=True)
    assert [entry._replace(standard_error=None) for entry in asked] == list(plain)
    assert all(entry.standard_error is None for entry in plain)
    side, doubt = doubtful.item_side, doubt_of(doubtful)
    positions = np.array(doubtful.catalogue.index(asked.items))
    pairs = history.items() if isinstance(history, dict) else [(item, 1.0) for item in history]
    items = doubtful.catalogue.index([item for item, _ in pairs])
    row = side.fold_in(np.array([0, len(items)]), items, np.array([value for _, value in pairs]))[0]
    row[0] = 1.0
    expected = [np.sqrt(row @ covariance_of(doubt, j) @ row) for j in positions]
    np.testing.assert_allclose([entry.standard_error for entry in asked], expected)
    assert len(set(expected)) == 6


def test_a_batch_has_the_same_errors_and_marks_and_nothing_where_no_item_is_left() -> None:
    model = make_doubtful("explicit")
    users = [("a", *pair) for pair in HISTORIES["explicit"].items()]
    users += [("b", f"item-{j}", 3.0) for j in range(11)]
    columns = dict(zip(("user", "item", "rating"), map(list, zip(*users, strict=True)), strict=True))
    ratings = Ratings.from_frame(
        columns, user="user", item="item", rating="rating", rating_range=(1.0, 5.0), catalogue=model.catalogue
    )
    plain = model.recommend_batch(ratings, 10)
    assert plain.columns == ["user", "rank", "item", "score"]
    frame = model.recommend_batch(ratings, 10, standard_errors=True, block=1)
    assert frame.columns == ["user", "rank", "item", "score", "standard_error", "mark"]
    assert frame.select(plain.columns).equals(plain)
    alone = model.recommend(HISTORIES["explicit"], 10, standard_errors=True)
    first = frame.filter(frame["user"] == "a")
    np.testing.assert_allclose(first["standard_error"], [entry.standard_error for entry in alone])
    assert first["mark"].to_list() == [entry.mark for entry in alone]
    assert "unknown" in first["mark"].to_list()
    second = frame.filter(frame["user"] == "b")
    assert second["item"].to_list() == ["item-11", *[None] * 9]
    assert second["standard_error"].null_count() == second["mark"].null_count() - 1 == 9


def test_a_model_without_doubt_has_no_standard_errors_and_knows_all_it_has(explicit: Model) -> None:
    with pytest.raises(SettingsInvalid, match=r"does not say how sure it is .* by hand"):
        explicit.recommend(HISTORIES["explicit"], standard_errors=True)
    assert explicit.known(["item-0", "item-5"]).all()
    assert {entry.mark for entry in explicit.recommend({}, 12)} == {None}


def test_an_item_is_unknown_when_nine_tenths_of_its_variance_are_left() -> None:
    model = make_doubtful("explicit")
    shares = np.linspace(0.0, 1.1, 12)
    shares[8:10] = 0.899, 0.901
    shares[10:] = 0.95, 0.999
    doubt = Doubt(0.5 * shares / (1.0 - shares), doubt_of(model).directions, prior=np.full(4, 0.5))
    model = replace(model, item_side=replace(model.item_side, doubt=doubt))
    assert model.known([f"item-{j}" for j in range(12)]).tolist() == [True] * 9 + [False] * 3
    marks = {entry.item: entry.mark for entry in model.recommend({}, 12)}
    assert [marks[f"item-{j}"] for j in range(8, 12)] == [None, "unknown", "unknown", "unknown"]
    with pytest.raises(HistoryInvalid, match="'ghost'"):
        model.known(["ghost"])


def test_similarity_is_the_correlation_of_scores_over_people_and_over_what_is_not_known() -> None:
    model = make_doubtful("explicit")
    doubt, factors = doubt_of(model), model.item_side.factors
    rng = np.random.default_rng(0)
    people = rng.normal(size=(200_000, 3))
    score = {
        j: np.einsum(
            "ij,ij->i",
            people,
            rng.multivariate_normal(factors[j], covariance_of(doubt, j)[1:, 1:], len(people)),
        )
        for j in (4, 7, 5)
    }
    found = {entry.item: entry.score for entry in model.similar("item-4", 11)}
    along = doubt.prior * np.square(doubt.directions[:, 1:]).sum(axis=1)
    known = {j: 1.0 - doubt.left[j] @ along / along.sum() for j in (4, 7, 5)}
    held_back = {j: np.sqrt(max(1.0 - (2.0 * (1.0 - one) / one) ** 2, 0.0)) for j, one in known.items()}
    assert any(0.3 < one < 0.999 for one in held_back.values())
    for other in (7, 5):
        true = np.corrcoef(score[4], score[other])[0, 1]
        expected = np.sqrt(held_back[4] * held_back[other]) * true
        assert found[f"item-{other}"] == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("left", "silent"), [(0.26, True), (0.24, False)])
def test_an_item_of_which_a_quarter_is_not_known_is_like_nothing_and_it_says_so(
    left: float, silent: bool
) -> None:
    """However long its factors are: those of thousands of items are long by chance."""
    model = make_doubtful("explicit")
    side = replace(model.item_side, factors=100.0 * model.item_side.factors)
    noise = np.full(12, 1e-9)
    noise[4] = left / (1.0 - left)
    doubt = Doubt(noise, np.eye(4), np.ones(4))
    found = replace(model, item_side=replace(side, doubt=doubt)).similar("item-4", 11)
    assert any("which items are like it" in note for note in found.notes) is silent
    assert any(entry.score != 0.0 for entry in found) is not silent
    other = replace(model, item_side=replace(side, doubt=doubt)).similar("item-5", 11)
    assert not any("like it" in note for note in other.notes)
    assert ({entry.item: entry.score for entry in other}["item-4"] == 0.0) is silent


def test_similarity_without_any_doubt_left_is_the_cosine_and_shrinks_with_doubt() -> None:
    model = make_doubtful("implicit")
    side = model.item_side
    lengths = np.linalg.norm(side.factors, axis=1)
    cosines = side.factors @ side.factors[4] / lengths / lengths[4]
    sure = Doubt(np.zeros(12), np.eye(4), prior=np.full(4, 0.5))
    certain = replace(model, item_side=replace(side, doubt=sure, feature_map=None)).similar(40, 11)
    order = [j for j in np.argsort(-cosines) if j != 4]
    assert certain.items == [10 * j for j in order]
    np.testing.assert_allclose([entry.score for entry in certain], cosines[order])
    unsure = {entry.item: entry.score for entry in model.similar(40, 11)}
    assert all(abs(unsure[entry.item]) < abs(entry.score) for entry in certain)


def test_a_query_of_which_nothing_is_known_is_answered_and_said_to_be() -> None:
    model = make_doubtful("explicit")
    assert model.similar("item-4").notes == ()
    found = model.similar("item-5")
    assert len(found) == 10
    assert "nothing is known about 'item-5'" in found.notes[0]
    assert "nothing is known about 'item-5'" in str(found)
    assert {entry.item: entry.mark for entry in model.similar("item-4", 11)}["item-5"] == "unknown"


def test_without_factors_everybody_gets_the_same_order_and_is_told() -> None:
    flat = make_model("explicit", rank=0)
    found = flat.recommend(HISTORIES["explicit"])
    assert found.notes == flat.notes == (SAME_ORDER,)
    assert "no taste directions" in str(found)
    assert make_model("explicit").recommend(HISTORIES["explicit"]).notes == ()
    leaning = OwnMean(np.arange(12) % 2.0)
    own = replace(flat, item_side=replace(flat.item_side, rule=leaning))
    low, high = (
        own.recommend({"item-0": 1.0}, exclude_seen=False),
        own.recommend({"item-0": 5.0}, exclude_seen=False),
    )
    assert low.items != high.items
    assert own.notes == ()


def test_a_guess_is_no_unknown_item_however_uncertain_it_is() -> None:
    doubt = Doubt(np.array([0.1, 5.0]), np.eye(1), prior=np.array([0.5])).with_guesses(1, 7.0)
    assert doubt.unknown.tolist() == [False, True, False]
    assert doubt.marks(np.array([2, 1, 0])) == ["guess", "unknown", None]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "too few items": ({"noise": np.ones(11)}, r"noise has the shape \(11,\)"),
    "too few directions": ({"directions": np.eye(3)}, r"directions has the shape \(3, 3\)"),
    "too few priors": ({"prior": np.ones(3)}, r"prior has the shape \(3,\)"),
    "too few reaches": ({"reach": np.ones(3)}, r"reach has the shape \(3,\)"),
    "too few guesses": ({"guessed": np.ones(11, dtype=np.bool_)}, r"guessed has the shape \(11,\)"),
    "below zero": ({"noise": -np.ones(12)}, "noise must be finite and not below zero"),
    "no number": ({"noise": np.full(12, np.nan)}, "noise must be finite"),
    "no scale": ({"scale": -0.1}, "scale must be finite and not below zero"),
    "endless shared": ({"shared": np.inf}, "shared must be finite"),
    "no prior": ({"prior": np.zeros(4)}, "prior must be finite and above zero"),
    "endless prior": ({"prior": np.full(4, np.inf)}, "prior must be finite"),
    "endless directions": ({"directions": np.full((4, 4), np.inf)}, "directions have numbers"),
}


@pytest.mark.parametrize("name", WRONG)
def test_doubt_that_is_no_covariance_of_this_model_is_refused(name: str) -> None:
    model = make_doubtful("explicit")
    change, said = WRONG[name]
    with pytest.raises(ModelInvalid, match=said):
        replace(model, item_side=replace(model.item_side, doubt=replace(doubt_of(model), **change)))


def test_what_all_scores_share_and_their_size_add_to_the_error() -> None:
    doubt = Doubt(np.array([1.0, 1.0]), np.eye(1), np.ones(1), np.array([1.0, 0.1]), shared=0.04, scale=0.09)
    found = doubt.standard_errors(np.zeros((1, 1)), np.array([[0, 1, -1]]), np.array([[2.0, -1.0, np.nan]]))
    expected = [0.5 + 0.04 + 0.09 * 4.0, 0.005 + 0.04 + 0.09]
    np.testing.assert_allclose(found[0, :2] ** 2, expected)
    assert np.isnan(found[0, 2])


def test_a_model_that_says_nothing_has_no_doubt_either() -> None:
    side = ItemSide(RatingScale((1.0, 5.0)), 3.0, np.zeros(2), np.zeros((2, 0)), Ridge())
    catalogue, nothing = Catalogue(["a", "b"]), Statement.nothing_released()
    assert Model(side, catalogue, nothing, "by hand").item_side.same_for_all
    learnt = replace(side, doubt=Doubt(np.full(2, 10.0), np.eye(1), np.ones(1)))
    assert Model(learnt, catalogue, STATEMENT, "by hand").known(["a"]).tolist() == [False]
    with pytest.raises(ModelInvalid, match="has learnt something"):
        Model(learnt, catalogue, nothing, "by hand")
