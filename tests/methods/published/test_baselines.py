"""The trivial methods: what they spend, what one user can move, how close they come to the exact numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from discreet import Budget, Catalogue, Ratings
from discreet.errors import BudgetInvalid, CatalogueInvalid, CatalogueMissing, SettingsInvalid
from discreet.evaluation import evaluate_ranking, evaluate_ratings
from discreet.methods.published.private.baselines import GlobalMean, ItemMean, Popularity, UserMean
from discreet.privacy import Gate, Noise
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.pattern import Pattern
from discreet.privacy.gaussian.tallies import Choices, ItemTallies, MeanOfMeans
from tests.methods.neighbours import move

BUDGET = Budget(2.0, 1e-6)
CHARGED = [GlobalMean, ItemMean, Popularity]
Method = type[GlobalMean] | type[UserMean] | type[ItemMean] | type[Popularity]


BLOCKS: dict[str, Callable[[Pattern, np.ndarray], list[Block]]] = {
    "mean": MeanOfMeans().blocks,
    "items": ItemTallies(17).blocks,
    "choices": lambda pattern, values: Choices(17).blocks(pattern),
}


def hostile_rows(rng: np.random.Generator, n_items: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Items and values (in half ranges) of ordinary users between those who try to count for more."""
    rows = []
    for count in rng.integers(1, n_items + 1, 12):
        items = np.sort(rng.choice(n_items, count, replace=False))
        rows.append((items, rng.uniform(-1, 1, count)))
    everything = np.arange(n_items)
    for value in (1.0, -1.0, 0.0, 1e-300, 1e-9, 1e300, np.inf, -np.inf, np.nan):
        rows.append((everything, np.full(n_items, value)))
        rows.append((everything[3:4], np.full(1, value)))
    mixed = np.where(everything % 2 == 0, 1.0, -1.0)
    rows += [
        (everything, mixed),
        (everything[:0], np.zeros(0)),
        (everything, np.where(mixed > 0, np.nan, 5.0)),
    ]
    return [rows[i] for i in rng.permutation(len(rows))]


def blocks_of(kind: str, rows: list[tuple[np.ndarray, np.ndarray]], n_items: int) -> list[Block]:
    indptr = np.cumsum([0, *(len(items) for items, _ in rows)])
    items, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    return BLOCKS[kind](Pattern(indptr, items.astype(np.int32), n_items), values)


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("seed", range(3))
def test_one_user_moves_a_release_by_at_most_one_unit_and_some_by_nearly_that(kind: str, seed: int) -> None:
    n_items = 17
    rows = hostile_rows(np.random.default_rng(seed), n_items)
    full = blocks_of(kind, rows, n_items)
    moves = [
        move(full, blocks_of(kind, rows[:user] + rows[user + 1 :], n_items)) for user in range(len(rows))
    ]
    assert max(moves) <= 1.0 + 1e-9
    assert max(moves) > 0.99
    if kind != "mean":
        rated = [len(items) > 0 for items, _ in rows]
        assert min(move for move, some in zip(moves, rated, strict=True) if some) > 0.99


def test_the_users_own_mean_costs_nothing(market: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gate, "release_totals", lambda *_, **__: pytest.fail("something was released"))
    for fitted in (UserMean().fit(market), UserMean().fit(market, BUDGET)):
        statement = fitted.statement_
        assert statement.private
        assert (statement.epsilon, statement.delta, statement.mu) == (0.0, 0.0, 0.0)
        assert statement.releases == ()
        assert (fitted.rank_, fitted.rounds_) == (0, 0)


def test_the_users_own_mean_says_nothing_about_who_was_there(market: Ratings) -> None:
    sides = [
        UserMean().fit(data).model_.item_side
        for data in (market, market.take_users([3]), market.take_users(slice(0, 0)))
    ]
    for side in sides:
        assert side.centre == 3.0
        np.testing.assert_array_equal(side.offsets, 0.0)
        np.testing.assert_array_equal(side.rule.share, 1.0)


@pytest.mark.parametrize("method", CHARGED)
def test_what_is_charged_needs_a_budget_and_spends_it_in_one_release(market: Ratings, method: Method) -> None:
    with pytest.raises(BudgetInvalid, match="Budget"):
        method().fit(market, None)  # type: ignore[arg-type]
    fitted = method().fit(market, BUDGET)
    assert [release.mu for release in fitted.statement_.releases] == [pytest.approx(BUDGET.mu, rel=1e-12)]
    assert (fitted.rank_, fitted.rounds_) == (0, 1)


def test_a_mean_of_hardly_anybody_stays_inside_the_range(market: Ratings) -> None:
    for data in (market.take_users(slice(0, 0)), market.take_users([0])):
        assert 1.0 <= GlobalMean().fit(data, Budget(0.01, 1e-6)).model_.item_side.centre <= 5.0


def test_predictions_are_the_means_they_are_named_after(market: Ratings) -> None:
    history, items = {"item-0003": 4.5, "item-0017": 1.5}, ["item-0001", "item-0003"]
    np.testing.assert_allclose(UserMean().fit(market).model_.predict(history, items), 3.0)
    np.testing.assert_allclose(UserMean().fit(market).model_.predict({"item-0003": 4.5}, items), 4.5)
    np.testing.assert_allclose(UserMean().fit(market).model_.predict({}, items), 3.0)
    model = GlobalMean().fit(market, BUDGET).model_
    np.testing.assert_array_equal(model.predict(history, items), model.predict({}, items))
    np.testing.assert_array_equal(model.predict(history, items), model.item_side.centre)


def test_close_to_the_exact_numbers(market: Ratings) -> None:
    counts = np.diff(market.indptr)
    own = np.add.reduceat(market.values, market.indptr[:-1]) / counts
    assert GlobalMean().fit(market, BUDGET).model_.item_side.centre == pytest.approx(own.mean(), abs=0.02)
    taken = np.bincount(market.items, minlength=200)
    exact = np.bincount(market.items, market.values, 200) / np.maximum(taken, 1)
    for epsilon, most in ((2.0, 0.06), (50.0, 0.03)):
        side = ItemMean().fit(market, Budget(epsilon, 1e-6)).model_.item_side
        assert np.sqrt(np.average((side.centre + side.offsets - exact) ** 2, weights=taken)) < most
    shares = Popularity().fit(market, BUDGET).model_.item_side.offsets
    weights = np.bincount(market.items, np.repeat(counts**-0.5, counts), 200)
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.002)
    assert np.corrcoef(shares, taken)[0, 1] > 0.95


def test_noise_draws_item_means_together(market: Ratings) -> None:
    """The smaller the budget, the less an item's own mean is believed; drowned ones are hardly believed at all."""

    def spread(epsilon: float) -> float:
        sides = (ItemMean().fit(market, Budget(epsilon, 1e-6)).model_.item_side for _ in range(40))
        return float(np.median([side.offsets.std() for side in sides]))

    assert spread(0.01) < spread(0.2) < spread(20.0)
    few = market.take_users(slice(0, 50))
    errors = [evaluate_ratings(ItemMean().fit(few, BUDGET).model_, market, market).rmse for _ in range(10)]
    assert np.median(errors) < 1.2


def test_popularity_ranks_like_the_exact_one(market: Ratings, clicks: Ratings) -> None:
    model = Popularity().fit(clicks, BUDGET).model_
    scores = evaluate_ranking(model, clicks.keep(clicks.items % 2 == 0), clicks.keep(clicks.items % 2 == 1))
    assert scores.recall > 0.9 * scores.popularity_recall
    values_ignored = Popularity().fit(market, BUDGET, noise=Noise.fixed_key_not_private("k")).model_
    plain = Ratings.from_arrays(
        market.indptr, market.items, np.ones(market.n_ratings), catalogue=market.catalogue, rating_range=None
    )
    same = Popularity().fit(plain, BUDGET, noise=Noise.fixed_key_not_private("k")).model_
    np.testing.assert_array_equal(values_ignored.item_side.offsets, same.item_side.offsets)


@pytest.mark.parametrize("method", [*CHARGED, UserMean])
def test_catalogues_and_settings_are_checked_as_everywhere(market: Ratings, method: Method) -> None:
    with pytest.raises(SettingsInvalid, match=r"rank.*Known settings: discover_share"):
        method(rank=3)
    single = Ratings.from_arrays(
        [0, 1, 2], [0, 0], [4.0, 2.0], catalogue=Catalogue(["only"]), rating_range=(1, 5)
    )
    with pytest.raises(CatalogueInvalid, match="only one item"):
        method().fit(single, BUDGET)
    unlisted = Ratings.from_arrays(
        market.indptr, market.items, market.values, catalogue=None, rating_range=(1, 5)
    )
    with pytest.raises(CatalogueMissing, match="discover_share"):
        method().fit(unlisted, BUDGET)
    fitted = method(discover_share=0.5).fit(unlisted, BUDGET)
    assert fitted.statement_.releases[0].delta == pytest.approx(0.5 * BUDGET.delta)
    assert len(fitted.statement_.releases) == (1 if method is UserMean else 2)
    with pytest.raises(BudgetInvalid, match="Budget"):
        method(discover_share=0.5).fit(unlisted, None)
