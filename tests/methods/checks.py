"""What the clipped methods must all do; each method's own test file calls these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest

from discreet import Budget, Model, Ratings, kernels
from discreet.methods.method import PrivateMethod
from discreet.privacy import Gate, Ledger, Noise
from discreet.privacy.gaussian.blocks import Block, total_energies
from discreet.types import Floats

Make = Callable[[], PrivateMethod]  # type: ignore[type-arg]
BUDGET = Budget(2.0, 1e-6)
LARGE = Budget(500.0, 1e-6)


def check_budget(make: Make, ratings: Ratings, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every release is charged once and under its name, and the costs add up to the budget."""
    released: list[tuple[str, float]] = []
    original = Gate.release

    def watched(
        self: Gate, name: str, blocks: list[Block], *, mu: float, delta: float = 0.0
    ) -> dict[str, Floats]:
        released.append((name, mu))
        return original(self, name, blocks, mu=mu, delta=delta)

    monkeypatch.setattr(Gate, "release", watched)
    told: list[tuple[int, int]] = []
    fitted = make().fit(
        ratings, BUDGET, rng=0, progress=lambda stage, done, total: told.append((done, total))
    )
    statement = fitted.statement_
    assert [(release.name, release.mu) for release in statement.releases] == released
    assert [name for name, _ in released] == names
    assert sum(mu**2 for _, mu in released) == pytest.approx(BUDGET.mu**2, rel=1e-9)
    assert statement.private
    assert statement.epsilon <= BUDGET.epsilon
    assert statement.epsilon == pytest.approx(BUDGET.epsilon, rel=1e-9)
    assert told == [(done, told[-1][1]) for done in range(told[-1][1] + 1)]
    assert fitted.rank_ == fitted.model_.item_side.rank


def check_what_is_left(make: Make, ratings: Ratings) -> None:
    """A gate that was charged before gives only what is left."""
    gate = Gate(Ledger(BUDGET))
    gate.ledger.charge("something else", mu=0.6 * BUDGET.mu)
    make()._train(ratings, gate, np.random.default_rng(0), None)
    assert gate.ledger.spent_mu == pytest.approx(BUDGET.mu, rel=1e-9)


def check_same_model(make: Make, ratings: Ratings) -> None:
    """Bit for bit the same for any number of threads and any order of users; another with other noise."""
    order = np.random.default_rng(1).permutation(ratings.n_users)

    def train(data: Ratings, threads: int, key: str = "test") -> bytes:
        with kernels.threads(threads):
            side = make().fit(data, LARGE, rng=0, noise=Noise.fixed_key_not_private(key)).model_.item_side
        assert np.abs(side.factors).max() > 0.0
        return side.factors.tobytes() + side.offsets.tobytes()

    one = train(ratings, 1)
    assert train(ratings, 2) == one
    assert train(ratings.take_users(order), 2) == one
    assert train(ratings, 1, "other") != one


class Recorder(Gate):
    """Remembers what it was given, the exact sums and what it let out."""

    def __init__(self) -> None:
        super().__init__(Ledger(LARGE), Noise.fixed_key_not_private("recorded"))
        self.blocks: list[list[Block]] = []
        self.sums: list[dict[str, Floats]] = []
        self.units: list[dict[str, float]] = []
        self.out: list[dict[str, Floats]] = []

    def release(self, name: str, blocks: list[Block], **cost: float) -> dict[str, Floats]:  # type: ignore[override]
        assert (total_energies(blocks) <= 1.0 + 1e-9).all()
        self.blocks.append(list(blocks))
        self.sums.append({block.name: block.total() for block in blocks})
        self.units.append({block.name: block.unit for block in blocks})
        self.out.append(super().release(name, blocks, **cost))
        return {name: values.copy() for name, values in self.out[-1].items()}


class Follower(Recorder):
    """Sums what it is given, but lets out what another gate let out: the same public past for other users."""

    def __init__(self, leader: Recorder) -> None:
        super().__init__()
        self._script = list(leader.out)

    def release(self, name: str, blocks: list[Block], **cost: float) -> dict[str, Floats]:  # type: ignore[override]
        super().release(name, blocks, **cost)
        return {name: values.copy() for name, values in self._script[len(self.sums) - 1].items()}


def check_neighbours(make: Make, ratings: Ratings, *, reached: float = 0.99) -> None:
    """Release by release, given the same earlier releases: a user moves the sums by at most the bound, the loudest
    by at least ``reached`` of it, and never what anybody else hands in."""

    def run(data: Ratings, gate: Recorder) -> list[dict[str, Floats]]:
        make()._train(data, gate, np.random.default_rng(0), None)
        return gate.sums

    leader = Recorder()
    full = run(ratings, leader)
    moved = np.zeros((ratings.n_users, len(full)))
    for user in range(ratings.n_users):
        others = np.arange(ratings.n_users) != user
        less = run(ratings.take_users(others), Follower(leader))
        own = run(ratings.take_users(~others), Follower(leader))
        for number, (units, whole, rest, alone) in enumerate(zip(leader.units, full, less, own, strict=True)):
            for name, unit in units.items():
                assert np.array_equal(whole[name] - rest[name], alone[name]), f"{name} {number}: others moved"
                moved[user, number] += float(((alone[name] / unit) ** 2).sum())
    assert np.sqrt(moved).max() <= 1.0 + 1e-9
    assert np.sqrt(moved).max(axis=0).min() >= reached


def check_only_releases_reach_the_model(make: Make, ratings: Ratings) -> None:
    """Other users altogether, but the same releases: the same model, to the last bit."""
    leader = Recorder()
    one = make()._train(ratings, leader, np.random.default_rng(0), None).side
    others = ratings.take_users(np.random.default_rng(2).integers(0, ratings.n_users, ratings.n_users // 3))
    follower = Follower(leader)
    other = make()._train(others, follower, np.random.default_rng(0), None).side
    assert any(
        (a[name] != b[name]).any() for a, b in zip(leader.sums, follower.sums, strict=True) for name in a
    )
    for field in fields(one):
        assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


def hostile_ratings(explicit: bool, n_items: int = 12) -> Ratings:
    """Users with all items, one, none; ratings at one end, at both ends, in between; and some ordinary ones."""
    rng = np.random.default_rng(3)
    n = 24
    counts = rng.integers(1, n_items + 1, n)
    counts[:6] = n_items, 1, 0, n_items, n_items, 1
    pairs = [[5.0, 5.0], [1.0, 1.0], [1.0, 1.0], [1.0, 5.0], [1.0, 1.0], [5.0, 5.0]]
    values = [
        np.resize(pairs[user], count) if user < 6 else rng.uniform(1, 5, count)
        for user, count in enumerate(counts)
    ]
    return Ratings.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([rng.choice(n_items, count, replace=False) for count in counts]),
        np.concatenate(values) if explicit else np.ones(counts.sum()),
        catalogue=np.arange(n_items),
        rating_range=(1.0, 5.0) if explicit else None,
    )


def check_tiny_budgets(make: Make, ratings: Ratings) -> None:
    """Nothing but noise: the model is useless, finite, and serves."""
    for epsilon in (1e-6, 0.01):
        model = make().fit(ratings, Budget(epsilon, 1e-9), rng=0).model_
        check_serves(model, ratings)


def check_empty_worlds(make: Make, ratings: Ratings) -> None:
    """No ratings at all, no users at all, one user: how few there are is private, so nothing may break."""
    for data in (
        ratings.keep(np.zeros(ratings.n_ratings, bool)),
        ratings.take_users(slice(0, 0)),
        ratings.take_users([0]),
    ):
        check_serves(make().fit(data, BUDGET, rng=0).model_, ratings)


def check_serves(model: Model, ratings: Ratings) -> None:
    side = model.item_side
    assert np.isfinite(side.factors).all()
    assert np.isfinite(side.offsets).all()
    few = ratings.take_users(slice(0, 20))
    coefficients = side.fold_in(few.indptr, few.items, few.values)
    assert np.isfinite(coefficients).all()
    users, items = np.repeat(np.arange(20), ratings.n_items), np.tile(np.arange(ratings.n_items), 20)
    assert np.isfinite(side.predict(coefficients, users, items)).all()
