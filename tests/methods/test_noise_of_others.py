"""Whatever is handed in as noise: only the package's own makes a run private."""

from __future__ import annotations

import pytest

from discreet import Budget, Popularity
from discreet.data.synthetic import market
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.shares import ShareNoise
from discreet.types import Floats

RATINGS = market(300, 20, 1_500, rng=0)


class Silent(Noise):
    """Promises noise and makes none."""

    def integers(self, sigma: Floats) -> Floats:
        return 0.0 * sigma


@pytest.mark.parametrize("noise", [Silent(), ShareNoise(10_000)], ids=["none at all", "a share of it"])
def test_other_noise_than_our_own_is_not_private(noise: Noise) -> None:
    statement = Popularity().fit(RATINGS, Budget(1.0, 1e-5), noise=noise).statement_
    assert not statement.private
    assert statement.epsilon is None
    assert "NOT" in str(statement).upper()


def test_our_own_is() -> None:
    assert Popularity().fit(RATINGS, Budget(1.0, 1e-5), noise=Noise()).statement_.private
