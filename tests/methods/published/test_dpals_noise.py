"""Table 4 of the DPALS paper: the golden numbers, and a run that owes what its preset owes."""

import pytest

from discreet import Budget, Ratings
from discreet.errors import BudgetInvalid
from discreet.methods.published.private.dpals import DPALS
from discreet.methods.published.public.dpals_noise import PRESETS
from discreet.privacy.accounting import compose, epsilon_from


@pytest.mark.parametrize(
    ("name", "paper"),
    [("ml-10m-eps-1", 1.001), ("ml-10m-eps-5", 5.008), ("ml-10m-eps-10", 10.041), ("ml-10m-eps-20", 19.824)],
)
def test_the_authors_counted_both_gaussians(name: str, paper: float) -> None:
    assert PRESETS[name].accounting.paper == pytest.approx(paper, abs=5e-4)


def test_there_is_one_for_each_column_and_the_exact_cost_is_below_the_renyi_one() -> None:
    assert len(PRESETS) == 12
    for preset in PRESETS.values():
        counted = preset.accounting
        assert counted.theorem_1 < counted.paper < counted.owed_renyi
        assert counted.owed < counted.owed_renyi
        assert counted.paper == pytest.approx(preset.epsilon, rel=0.08)


@pytest.mark.parametrize("name", ["ml-10m-eps-1", "ml-10m-top400-eps-16"])
def test_a_run_of_a_preset_owes_what_the_table_says(name: str, market: Ratings) -> None:
    preset = PRESETS[name]
    fitted = DPALS.from_preset(name, rank=4).fit(market, Budget(preset.epsilon, preset.delta), rng=0)
    owed = preset.accounting.owed
    assert fitted.statement_.epsilon == pytest.approx(owed, rel=1e-6)
    paid = compose(release.mu for release in fitted.statement_.releases)
    assert epsilon_from(paid, preset.delta) == pytest.approx(owed, rel=1e-6)
    assert fitted.accounting_ == preset.accounting


def test_clicks_skip_the_second_count_that_nothing_reads(clicks: Ratings) -> None:
    preset = PRESETS["ml-20m-eps-5"]
    fitted = DPALS.from_preset(preset.name, rank=4).fit(clicks, Budget(5.0, preset.delta), rng=0)
    assert [release.name for release in fitted.statement_.releases] == [
        "item counts",
        "round 1",
        "round 2",
        "round 3",
    ]
    square = preset.plan.mu**2 - preset.plan.mu_counts**2
    assert sum(release.mu**2 for release in fitted.statement_.releases) == pytest.approx(square)


def test_noise_that_costs_more_than_the_budget_is_refused_before_anything_is_spent(market: Ratings) -> None:
    """The column for epsilon 10 owes 10.155."""
    with pytest.raises(BudgetInvalid, match=r"costs epsilon 10\.16"):
        DPALS.from_preset("ml-10m-eps-10", rank=4).fit(market, Budget(10.0, 1e-5), rng=0)
