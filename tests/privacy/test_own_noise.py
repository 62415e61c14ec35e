"""Only the package's own noise makes a run private: at every gate, loudly, and whatever a substitute says of itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet.devices.task import DeviceSettings, Schedule, state_task
from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import FIXED_KEY, SECRET_BYTES, Noise, own_noise, why_not_private
from discreet.privacy.gaussian.shares import ShareNoise, SiloGate
from discreet.privacy.gaussian.totals import exact_totals
from discreet.privacy.ledger import Ledger
from discreet.privacy.local.rotated import Coin
from discreet.privacy.pure.clusters import count_users
from discreet.privacy.pure.gate import PureGate
from discreet.privacy.pure.ledger import PureLedger, state_pure
from discreet.privacy.pure.noise import PureNoise
from discreet.privacy.statement import Statement
from discreet.types import Floats, Ints
from tests.privacy.checks.samples import one_of_each
from tests.privacy.worlds import BUDGET

MU = 0.1


class SilentNoise(Noise):
    """None at all, and it denies everything."""

    fixed = False

    def integers(self, sigma: Floats) -> Floats:
        return 0.0 * sigma

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        return np.zeros((sigma.size, order, order))


class SilentShares(ShareNoise):
    def integers(self, sigma: Floats) -> Floats:
        return 0.0 * sigma

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        return np.zeros((sigma.size, order, order))


class SilentPure(PureNoise):
    def two_sided(self, rate: object, size: int) -> Ints:
        return np.zeros(size, dtype=np.int64)


class HonestCoin(Coin):
    """Throws as the package's own: that a class is derived is enough."""


def central(noise: Noise) -> Statement:
    gate = Gate(Ledger(BUDGET), noise)
    gate.release("sums", one_of_each(), mu=MU)
    return Statement.from_ledger(gate.ledger)


def share(noise: ShareNoise) -> Statement:
    gate = SiloGate(Ledger(BUDGET), noise)
    blocks = one_of_each()
    gate.totals("sums", blocks, exact_totals(blocks), mu=MU, detail={})
    return Statement.from_ledger(gate.ledger)


def pure(noise: PureNoise) -> Statement:
    gate = PureGate(PureLedger(1.0), noise)
    count_users(gate, "count", 10, epsilon=1.0)
    return state_pure(gate.ledger, model="silos")


def local(coin: Coin) -> Statement:
    schedule = Schedule(DeviceSettings(), 4.0)
    return state_task(schedule, len(schedule.steps), coin)


@pytest.mark.parametrize(
    ("gate", "own", "other"),
    [
        (central, Noise, SilentNoise),
        (central, PureNoise, SilentPure),
        (central, Noise, lambda: ShareNoise(10_000)),
        (share, lambda: ShareNoise(2), lambda: SilentShares(2)),
        (pure, PureNoise, SilentPure),
        (local, Coin, HonestCoin),
    ],
    ids=["central", "central, pure", "a share alone", "shares", "pure", "local"],
)
def test_only_own_noise_is_private_at_every_gate(
    gate: Callable[[object], Statement], own: Callable[[], object], other: Callable[[], object]
) -> None:
    assert gate(own()).private
    substitute = other()
    statement = gate(substitute)
    assert (statement.private, statement.epsilon, statement.fixed_noise_key) == (False, None, False)
    assert type(substitute).__name__ in str(statement)
    assert "NOT PRIVATE" in str(statement)


def test_methods_that_were_replaced_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Noise()
    one.integers = lambda sigma: 0.0 * sigma  # type: ignore[method-assign]
    assert "replaced" in str(central(one).reason)
    monkeypatch.setattr(Noise, "normals", lambda self, size: np.zeros(size))
    for statement in (central(Noise()), central(PureNoise()), share(ShareNoise(2))):
        assert not statement.private
        assert "replaced" in str(statement.reason)
    monkeypatch.undo()
    assert central(Noise()).private


def test_a_method_added_to_a_derived_class_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """PureNoise has no ``integers`` of its own; one that is put there shadows the one it inherits."""
    monkeypatch.setattr(PureNoise, "integers", lambda self, sigma: 0.0 * sigma, raising=False)
    assert not central(PureNoise()).private


def test_a_kind_that_lacks_something_does_not_serve() -> None:
    assert "PureNoise" in str(why_not_private(Noise(), PureNoise))


def test_a_key_is_given_as_the_reason() -> None:
    for gate, source in (
        (central, Noise(key=b"")),
        (central, PureNoise(key=b"known")),
        (share, ShareNoise(2, key=b"known")),
        (pure, PureNoise(key=b"known")),
        (local, Coin(key=0)),
    ):
        statement = gate(source)  # type: ignore[operator]
        assert (statement.private, statement.reason, statement.fixed_noise_key) == (False, FIXED_KEY, True)


def test_one_bad_release_among_good_ones_is_enough() -> None:
    ledger = Ledger(BUDGET)
    Gate(ledger).release("good", one_of_each(), mu=MU)
    Gate(ledger, SilentNoise()).release("bad", one_of_each(), mu=MU)
    Gate(ledger).release("good again", one_of_each(), mu=MU)
    assert not Statement.from_ledger(ledger).private


def test_nothing_outside_the_privacy_room_is_registered_as_own() -> None:
    marked = [
        path
        for path in Path(own_noise.__code__.co_filename).parents[2].rglob("*.py")
        if "@own_noise" in path.read_text()
    ]
    assert sorted(path.name for path in marked) == ["noise.py", "noise.py", "rotated.py", "shares.py"]
    assert {path.parts[-3] for path in marked} == {"privacy"}


def test_noise_of_a_secret_that_somebody_brings_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match="leave noise out"):
        Gate(Ledger(BUDGET), Noise.from_secret(bytes(SECRET_BYTES)))
