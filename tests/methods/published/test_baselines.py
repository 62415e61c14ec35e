"""The trivial methods: what they spend, what one user can move, how close they come to the exact numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from discreet import Budget, Catalogue, Ratings
from discreet.errors import BudgetInvalid, CatalogueInvalid, CatalogueMissing, SettingsInvalid
from discreet.methods.published.private.baselines import GlobalMean, ItemMean, Popularity, UserMean
from discreet.privacy import Gate
from discreet.privacy.gaussian.blocks import Block, Pattern
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


@pytest.mark.parametrize("method", CHARGED)
def test_what_is_charged_needs_a_budget_and_spends_it_in_one_release(market: Ratings, method: Method) -> None:
    with pytest.raises(BudgetInvalid, match="Budget"):
        method().fit(market, None)  # type: ignore[arg-type]
    fitted = method().fit(market, BUDGET)
    assert [release.mu for release in fitted.statement_.releases] == [pytest.approx(BUDGET.mu, rel=1e-12)]
    assert (fitted.rank_, fitted.rounds_) == (0, 1)


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
