"""DPALS end to end: what it spends, whom it depends on, and what each of its parts does."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import Budget, Ratings, kernels
from discreet.data import splits, synthetic
from discreet.errors import SettingsInvalid
from discreet.evaluation.protocols import evaluate_ranking, evaluate_ratings
from discreet.methods.dpals.estimator import DPALS
from discreet.model.fold_in import OwnMean
from discreet.privacy import Gate, Ledger, Noise
from discreet.privacy.accounting import epsilon_renyi

BUDGET = Budget(5.0, 1e-6)
QUIET = Budget(2000.0, 1e-6)
SMALL: dict[str, Any] = {"rank": 4, "most": 20, "penalty": 10.0, "typical_count": 40.0}
VARIANTS: dict[str, dict[str, Any]] = {
    "tail": {},
    "uniform, plain": {"sampling": "uniform", "item_exponent": 0.0, "centring": "middle"},
    "weights": {"sampling": "weights"},
    "gravity": {"gravity": 0.5},
    "spectral start": {"start": "spectral"},
    "frequent items": {"frequent_share": 0.3},
    "orthonormal": {"orthonormal": True, "row_clip": 2.0},
    "split users": {"split_users": True, "rounds": 3},
    "no projection": {"project": False},
    "given sigmas": {"sigma_matrix": 60.0, "sigma_vector": 40.0, "sigma_counts": 100.0},
    "one given sigma": {"sigma_vector": 40.0},
}


@pytest.fixture(scope="module")
def skewed() -> tuple[Ratings, Ratings]:
    ratings = synthetic.market(20_000, 600, 600_000, rng=0)
    train, test = splits.by_rating(ratings, (0.9, 0.1), rng=0)
    return train, test


def rmse(train: Ratings, test: Ratings, budget: Budget, **settings: Any) -> float:
    model = DPALS(**settings).fit(train, budget, rng=0).model_
    return evaluate_ratings(model, train, test).rmse


@pytest.mark.parametrize("variant", list(VARIANTS))
@pytest.mark.parametrize("kind", ["explicit", "implicit"])
def test_what_is_charged_is_what_was_released_and_covers_the_plan(
    market: Ratings, clicks: Ratings, kind: str, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[tuple[str, float]] = []
    original = Gate.release

    def watched(self: Gate, name: str, blocks: list, *, mu: float, delta: float = 0.0) -> dict:
        released.append((name, mu))
        return original(self, name, blocks, mu=mu, delta=delta)

    monkeypatch.setattr(Gate, "release", watched)
    ratings = market if kind == "explicit" else clicks
    fitted = DPALS(**(SMALL | VARIANTS[variant])).fit(ratings, BUDGET, rng=0)
    statement = fitted.statement_
    assert [(release.name, release.mu) for release in statement.releases] == released
    spent = sum(mu**2 for _, mu in released)
    assert fitted.accounting_.owed == pytest.approx(statement.epsilon, rel=1e-9)
    if "given sigmas" in variant:
        assert spent < BUDGET.mu**2
    else:
        assert spent == pytest.approx(BUDGET.mu**2, rel=1e-9)
        assert statement.epsilon == pytest.approx(5.0, rel=1e-9)
    assert np.isfinite(fitted.model_.item_side.factors).all()


def test_the_releases_are_those_of_the_papers(market: Ratings) -> None:
    names = [release.name for release in DPALS(**SMALL).fit(market, BUDGET, rng=0).statement_.releases]
    assert names == ["item counts", "item counts of the sample", "mean", "round 1", "round 2"]
    plain = DPALS(**(SMALL | VARIANTS["uniform, plain"])).fit(market, BUDGET, rng=0)
    assert [release.name for release in plain.statement_.releases] == ["round 1", "round 2"]


@pytest.mark.parametrize(
    "variant", ["tail", "weights", "gravity", "spectral start", "split users", "orthonormal"]
)
def test_same_model_for_any_threads_and_any_order_of_users(market: Ratings, variant: str) -> None:
    def train(data: Ratings, threads: int) -> np.ndarray:
        with kernels.threads(threads):
            noise = Noise.fixed_key_not_private("test")
            return (
                DPALS(**(SMALL | VARIANTS[variant]))
                .fit(data, BUDGET, rng=0, noise=noise)
                .model_.item_side.factors
            )

    reference = train(market, 1)
    np.testing.assert_array_equal(train(market, 2), reference)
    shuffled = market.take_users(np.random.default_rng(1).permutation(market.n_users))
    np.testing.assert_array_equal(train(shuffled, 2), reference)


@pytest.mark.parametrize(
    "variant", ["tail", "uniform, plain", "weights", "gravity", "spectral start", "split users"]
)
def test_one_user_moves_every_release_of_a_run_by_no_more_than_its_charge(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two whole runs with the same public state: noise off, and each release of the first fed to the second."""
    from tests.methods.neighbours import largest_moves

    ratings = synthetic.market(60, 30, 400, rng=3)
    settings = SMALL | VARIANTS[variant] | {"most": 5, "rank": 2}
    moves = largest_moves(
        lambda data, gate: DPALS(**settings)._train(data, gate, np.random.default_rng(0), None), ratings
    )
    assert max(moves.values()) <= 1.0 + 1e-9, moves
    assert min(moves.values()) > 0.3, moves


PLAIN: dict[str, Any] = {
    "rank": 5,
    "most": 200,
    "penalty": 0.01,
    "sampling": "uniform",
    "item_exponent": 0.0,
    "user_exponent": 0.0,
    "centring": "middle",
}


def test_without_noise_it_is_alternating_least_squares() -> None:
    """On noise-free rank-5 data a few rounds find the factors."""
    train, test = synthetic.low_rank(3_000, 200, rng=0)
    assert rmse(train, test, Budget(1e6, 1e-6), **PLAIN, rounds=3) < 0.005


def test_a_spectral_start_saves_rounds() -> None:
    train, test = synthetic.low_rank(3_000, 200, rng=0)
    random = rmse(train, test, QUIET, **PLAIN, rounds=1)
    spectral = rmse(train, test, QUIET, **PLAIN, rounds=1, start="spectral")
    assert spectral < 0.6 * random


PAPER: dict[str, Any] = {"rank": 16, "most": 30, "penalty": 20.0, "typical_count": 30.0}


def test_projection_saves_the_private_model(skewed: tuple[Ratings, Ratings]) -> None:
    budget = Budget(5.0, 1e-6)
    projected, plain = (rmse(*skewed, budget, **PAPER, project=project) for project in (True, False))
    assert projected < plain - 0.1


def test_items_left_to_the_users_own_mean_are_predicted_by_it(skewed: tuple[Ratings, Ratings]) -> None:
    train, _ = skewed
    fitted = DPALS(**PAPER, frequent_share=0.1).fit(train, BUDGET, rng=0)
    side = fitted.model_.item_side
    assert isinstance(side.rule, OwnMean)
    assert side.rule.share.sum() == 540
    rare = int(np.flatnonzero(side.rule.share)[0])
    often = np.flatnonzero(side.rule.share == 0)[:3]
    ids = np.asarray(fitted.model_.catalogue.ids).tolist()
    history = dict(zip([ids[j] for j in often], [5.0, 2.0, 2.0], strict=True))
    assert fitted.model_.predict(history, [ids[rare]])[0] == pytest.approx(3.0)


def test_frequent_items_are_those_with_the_most_ratings(skewed: tuple[Ratings, Ratings]) -> None:
    train, _ = skewed
    side = DPALS(**PAPER, frequent_share=0.1).fit(train, Budget(50.0, 1e-6), rng=0).model_.item_side
    assert isinstance(side.rule, OwnMean)
    counts = np.bincount(train.items, minlength=train.n_items)
    assert set(np.argsort(-counts)[:40]) <= set(np.flatnonzero(side.rule.share == 0))


def test_clicks_are_ranked_better_than_by_popularity(clicks: Ratings) -> None:
    train, query, target = splits.held_out_users(clicks, 0.2, rng=0)
    model = (
        DPALS(
            rank=8,
            most=60,
            gravity=0.5,
            penalty=5.0,
            item_exponent=0.0,
            user_exponent=0.0,
            row_clip=1.0,
            rounds=5,
        )
        .fit(train, QUIET, rng=0)
        .model_
    )
    scores = evaluate_ranking(model, query, target, 20)
    assert scores.recall > 1.05 * scores.popularity_recall


def test_the_papers_claim_stands_beside_what_is_owed(market: Ratings) -> None:
    fitted = DPALS(**SMALL, sigma_matrix=60.0, sigma_vector=40.0, sigma_counts=100.0).fit(
        market, BUDGET, rng=0
    )
    counted = fitted.accounting_
    square = 2 * 20 * (1 / 60**2 + 1 / 40**2)
    assert counted.paper == pytest.approx(epsilon_renyi(np.sqrt(square + 42 / 1e4), 1e-6))
    assert counted.owed_renyi == pytest.approx(epsilon_renyi(np.sqrt(square + 80 / 1e4), 1e-6))


def test_a_ledger_that_was_used_before_is_not_overdrawn(market: Ratings) -> None:
    """Discovery spends first; the plan takes what is left."""
    from discreet.methods.dpals.public.plan import make_plan
    from discreet.methods.dpals.settings import DPALSSettings

    ledger = Ledger(BUDGET)
    ledger.charge("something", mu=BUDGET.mu * 0.6)
    plan = make_plan(DPALSSettings(), ledger, explicit=True)
    assert plan.mu == pytest.approx(BUDGET.mu * 0.8, rel=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_what_is_owed_includes_the_search_for_a_catalogue(share: float) -> None:
    market = synthetic.market(4_000, 60, 60_000, rng=0)
    ids = np.asarray(market.catalogue.ids)  # type: ignore[union-attr]
    frame = pl.DataFrame(
        {
            "user": np.repeat(market.user_ids, np.diff(market.indptr)),
            "item": ids[market.items].tolist(),
            "rating": market.values,
        }
    )
    ratings = Ratings.from_frame(frame, user="user", item="item", rating="rating", rating_range=(1.0, 5.0))
    fitted = DPALS(**SMALL, discover_share=share).fit(ratings, BUDGET, rng=0)
    assert fitted.statement_.epsilon is not None
    assert fitted.accounting_.owed >= fitted.statement_.epsilon * (1.0 - 1e-9)
    assert fitted.accounting_.owed_renyi > fitted.accounting_.owed


@pytest.mark.parametrize("settings", [{"split_users": True, "rounds": 1}, {"rank": 1, "start": "spectral"}])
def test_the_smallest_settings_work(market: Ratings, settings: dict[str, Any]) -> None:
    assert np.isfinite(DPALS(**(SMALL | settings)).fit(market, BUDGET, rng=0).model_.item_side.factors).all()


@pytest.mark.parametrize("settings", [{"sigma_matrix": 1e-200}, {"sigma_vector": 1e200}, {"rank": 0}])
def test_settings_out_of_this_world_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingsInvalid):
        DPALS(**settings)


def test_splitting_users_splits_their_ratings_evenly(market: Ratings) -> None:
    """Every rating belongs to exactly one round, about as many to each."""
    from discreet.methods.dpals.public.plan import make_plan
    from discreet.methods.dpals.run import DPALSRun
    from discreet.methods.dpals.settings import DPALSSettings

    settings = DPALSSettings(**(SMALL | {"split_users": True, "rounds": 3}))
    gate = Gate(Ledger(BUDGET))
    run = DPALSRun(
        settings, make_plan(settings, gate.ledger, explicit=True), market, gate, np.random.default_rng(0)
    )
    seen: list[int] = []

    class Side:
        def fold_in(self, indptr: Any, items: Any, values: Any, kind: Any) -> np.ndarray:
            seen.append(len(items))
            return np.zeros((len(indptr) - 1, 5))

    for number in range(3):
        run._vectors(number, Side())  # type: ignore[arg-type]
    assert sum(seen) == market.n_ratings
    assert min(seen) > 0.3 * market.n_ratings
