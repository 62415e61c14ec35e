"""Noisy Lloyd steps: contributions stay within one unit, also between neighbours, and the budget is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.kernels import distances as kernels
from discreet.methods.prototypes.private import silo as silo_module
from discreet.methods.prototypes.private.lloyd import Plan, lloyd_prototypes
from discreet.methods.prototypes.private.rows import TooFewUsers
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.privacy.accounting import compose
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import COUNT, Block, total_energies
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.ledger import Ledger
from discreet.privacy.pure.noise import PureNoise
from tests.methods.prototypes.worlds import hostile, ratings, silo

BUDGET = Budget(5.0, 1e-6)
Released = dict[str, npt.NDArray[np.float64]]


class WatchedGate(Gate):
    """The real gate; remembers exact sums in units, and plays another run's outcomes back."""

    def __init__(self, replay: list[Released] | None = None) -> None:
        super().__init__(Ledger(BUDGET), PureNoise.fixed_key_not_private("lloyd"))
        self.sums: list[list[npt.NDArray[np.float64]]] = []
        self.released: list[Released] = []
        self.largest: list[float] = []
        self.mus: list[float] = []
        self._replay = replay

    def release(self, name: str, blocks: Sequence[Block], *, mu: float, delta: float = 0.0) -> Released:
        self.mus.append(mu)
        self.largest.append(float(total_energies(blocks).max(initial=0.0)))
        self.sums.append([block.total() / block.unit for block in blocks])
        own = super().release(name, blocks, mu=mu, delta=delta)
        self.released.append(own if self._replay is None else self._replay[len(self.released)])
        return {key: value.copy() for key, value in self.released[-1].items()}


class Anybody(PrototypeSettings):
    """Refuses no silo, whatever the noisy count."""

    def least_users(self, rate: float) -> int:
        return -(10**9)


def settings(kind: type[PrototypeSettings] = Anybody, **changes: Any) -> PrototypeSettings:
    return kind.checked(
        **{"unrated": "zero"} | changes,
        clustering="lloyd",
        prototypes=3,
        users=60,
        dimension=2,
        rounds=3,
        max_ratings=6,
    )


@pytest.mark.parametrize("who", list(hostile()))
@pytest.mark.parametrize("norm", [None, 3.0])
def test_a_hostile_user_moves_a_release_by_at_most_one_unit(who: str, norm: float | None) -> None:
    chosen = settings(row_clip=norm)
    rows = silo(40, 2)
    base = WatchedGate()
    lloyd_prototypes(base, ratings(rows), chosen, BUDGET)
    more = WatchedGate(base.released)
    lloyd_prototypes(more, ratings([*rows[:9], hostile()[who], *rows[9:]]), chosen, BUDGET)
    assert max(base.largest + more.largest) <= 1.0 + 1e-9
    for before, after in zip(base.sums, more.sums, strict=True):
        moved = sum(float(((b - a) ** 2).sum()) for a, b in zip(before, after, strict=True))
        assert moved <= 1.0 + 1e-9


def test_the_plan_is_the_budget() -> None:
    plan = Plan.of(settings(), BUDGET)
    assert compose([plan.count, *plan.steps, plan.values]) == pytest.approx(BUDGET.mu, rel=1e-6)
    assert compose([plan.count, *plan.steps, plan.values]) <= BUDGET.mu


@pytest.mark.parametrize("who", ["everything at the top", "a mixture"])
def test_centres_follow_from_the_releases_alone(who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is in which cluster follows from one's own ratings and from these: a trace of others would move everybody."""
    nearest, rows = kernels.nearest_centres, silo(40, 5)

    def centres(gate: WatchedGate, people: list[dict[int, float]]) -> list[bytes]:
        seen: list[bytes] = []

        def watched(points: npt.NDArray[np.int64], places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
            seen.append(places.tobytes())
            return nearest(points, places)

        monkeypatch.setattr(kernels, "nearest_centres", watched)
        lloyd_prototypes(gate, ratings(people), settings(), BUDGET)
        return seen

    base = WatchedGate()
    before = centres(base, rows)
    assert len(before) == 4
    assert centres(WatchedGate(base.released), [*rows, hostile()[who]]) == before


def test_whole_messages_follow_from_the_releases_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a byte of what leaves is another when a user comes and the releases stay, notes and statement included."""
    chosen, rows = settings(PrototypeSettings, minimum_users=1), silo(200, 5)

    def sent(gate: WatchedGate, people: list[dict[int, float]]) -> bytes:
        monkeypatch.setattr(silo_module, "Gate", lambda ledger, noise: gate)
        return PrivatePrototypes(chosen).message(ratings(people), BUDGET.epsilon).to_bytes()

    base = WatchedGate()
    before = sent(base, rows)
    for who in hostile().values():
        assert sent(WatchedGate(base.released), [*rows, who]) == before


@pytest.mark.parametrize(("users", "released"), [(0, 10**6), (1, 10**6), (200, 0), (200, -5)])
def test_who_is_refused_follows_from_the_released_count(users: int, released: int) -> None:
    """An exact count in the place of the noisy one would tell one user from none."""
    base = WatchedGate()
    lloyd_prototypes(base, ratings(silo(40, 5)), settings(), BUDGET)
    count = {"users": np.array([released * COUNT])}
    gate = WatchedGate([count, *base.released[1:]])
    chosen = settings(PrototypeSettings, minimum_users=20)
    if released < 20:
        with pytest.raises(TooFewUsers, match=f"a noisy count of {released}, where 20 are needed"):
            lloyd_prototypes(gate, ratings(silo(users, 5)), chosen, BUDGET)
        assert len(gate.released) == 1
    else:
        lloyd_prototypes(gate, ratings(silo(users, 5)), chosen, BUDGET)


def test_clicks_have_one_prototype_and_pay_for_no_steps() -> None:
    rated = ratings(silo(400, 3))
    clicks = replace(rated, values=np.ones(rated.n_ratings), rating_range=None)
    chosen = PrototypeSettings.checked(users=400, dimension=2, minimum_users=1)
    watched = WatchedGate()
    found = lloyd_prototypes(watched, clicks, chosen, BUDGET)
    assert len(found.values) == 1
    assert len(watched.released) == 2  # the count and the values
    spent = compose(watched.mus)
    assert spent == pytest.approx(BUDGET.mu, rel=1e-6)
    assert spent <= BUDGET.mu
    for asked, count in ((chosen.n_groups(explicit=True), 10), (settings().n_groups(explicit=False), 3)):
        assert asked == count
