"""The trivial methods: what they spend, what one user can move, how close they come to the exact numbers."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Budget, Catalogue, Ratings
from discreet.errors import BudgetInvalid, CatalogueInvalid, CatalogueMissing, SettingsInvalid
from discreet.methods.published.private.baselines import GlobalMean, ItemMean, Popularity, UserMean
from discreet.privacy import Gate

BUDGET = Budget(2.0, 1e-6)
CHARGED = [GlobalMean, ItemMean, Popularity]
Method = type[GlobalMean] | type[UserMean] | type[ItemMean] | type[Popularity]


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
