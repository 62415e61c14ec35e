"""Is training together worth it: the rehearsal has the noise of the real thing, and says what follows."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from discreet import Budget, BudgetedALS, Catalogue
from discreet.data.synthetic import market
from discreet.errors import SettingsInvalid
from discreet.methods.budgeted.public.constants import BudgetedSettings
from discreet.privacy.gaussian.shares import RehearsalNoise
from discreet.silos import plan as planning
from discreet.silos.plan import Federation, Row, default_honest, plan
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.masks import public_key

BUDGET = Budget(4.0, 1e-6)


def agreement(silos: int, honest: int | None = None) -> Agreement:
    names = {f"silo-{number}": public_key(secrets.token_bytes(32)) for number in range(silos)}
    return Agreement.make(
        "a plan",
        silos=names,
        budget=BUDGET,
        catalogue=Catalogue(["a", "b"]),
        rating_range=(1.0, 5.0),
        method="budgeted",
        settings=BudgetedSettings(),
        honest=honest,
    )


@pytest.mark.parametrize(("silos", "honest"), [(5, 3), (2, 2)])
def test_the_noise_of_a_rehearsal_is_that_of_the_agreed_shares(silos: int, honest: int) -> None:
    noise, agreed = RehearsalNoise(silos, honest), agreement(silos, honest)
    assert noise.excess == agreed.noise_excess(silos)
    drawn = noise.integers(np.full(40_000, 1_000.0))
    assert drawn.std() == pytest.approx(1_000.0 * agreed.noise_excess(silos), rel=0.03)
    square = noise.symmetric_integers(np.full(20_000, 1_000.0), 2)
    assert square[:, 0, 0].std() == pytest.approx(1_000.0 * agreed.noise_excess(silos), rel=0.03)


def test_a_run_with_the_noise_of_a_rehearsal_is_never_called_private() -> None:
    fitted = BudgetedALS(rank=0).fit(market(300, 30, 2_000, rng=0), BUDGET, noise=RehearsalNoise(2, 2))
    assert not fitted.statement_.private
    assert "RehearsalNoise" in (fitted.statement_.reason or "")


def test_the_default_is_the_one_of_an_agreement() -> None:
    for silos in range(2, 12):
        assert default_honest(silos) == agreement(silos).honest


def test_every_way_to_train_is_in_the_plan_and_more_honest_silos_mean_less_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planning, "NEWCOMERS", 300)
    federation = Federation((700, 700, 200, 200, 200), items=60, ratings_per_user=12, goal="rate")
    stages: list[tuple[int, int]] = []
    rows = plan(
        federation,
        Budget(8.0, 1e-6),  # the noise is fresh: a small budget would let chance decide the contests below
        draws=1,
        rng=0,
        progress=lambda _, done, total: stages.append((done, total)),
    )
    assert stages == [(done, len(rows) - 1) for done in range(len(rows) - 1)]
    assert [(row.training, row.private, row.silos, row.users, row.honest) for row in rows] == [
        ("free", True, 0, 0, None),
        ("alone", False, 1, 200, None),
        ("alone", False, 1, 700, None),
        ("alone", True, 1, 200, None),
        ("alone", True, 1, 700, None),
        ("together", True, 2, 1_400, 2),
        ("together", True, 3, 1_600, 2),
        ("together", True, 5, 2_000, 1),
        ("together", True, 5, 2_000, 3),
        ("together", True, 5, 2_000, 5),
    ]
    scores = {(row.training, row.private, row.users, row.honest): row.score for row in rows}
    free = scores["free", True, 0, None]
    assert all(score is not None for score in scores.values())
    assert scores["alone", False, 700, None] < scores["alone", False, 200, None]  # type: ignore[operator]
    assert scores["alone", False, 200, None] < scores["alone", True, 200, None]  # type: ignore[operator]
    assert scores["together", True, 2_000, 5] < scores["alone", True, 200, None]  # type: ignore[operator]
    assert scores["together", True, 2_000, 5] < free  # type: ignore[operator]


def test_a_budget_that_is_too_small_is_a_finding_and_not_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "NEWCOMERS", 100)
    federation = Federation((20, 20), items=60, ratings_per_user=5, goal="rate")
    rows = plan(federation, Budget(0.01, 1e-9), draws=1, rng=0)
    assert [row.score for row in rows if row.private and row.silos] == [None] * 3
    assert isinstance(rows[0], Row)
    assert rows[0].score is not None


def test_wrong_federations_are_refused_in_words() -> None:
    with pytest.raises(SettingsInvalid, match="at least two silos"):
        Federation((100,))
    with pytest.raises(SettingsInvalid, match="at least two users"):
        Federation((100, 1))
    with pytest.raises(SettingsInvalid, match="4 of 3 silos cannot be honest"):
        Federation((100, 100, 100), honest=4)
    with pytest.raises(SettingsInvalid, match="0 of 2 silos cannot be honest"):
        RehearsalNoise(2, 0)
