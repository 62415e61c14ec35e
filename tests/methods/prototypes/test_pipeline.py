"""The whole protocol on small worlds: what silos send, what comes back, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing, RatingsInvalid, SettingsInvalid
from discreet.evaluation.metrics import rmse
from discreet.methods.prototypes.private.rows import TooFewUsers
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.public.server import build_model
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings, ShareTable
from discreet.privacy.pure.noise import PureNoise
from discreet.privacy.statement import state_over_silos
from reproduction.silos.methods import central_factors
from tests.methods.prototypes.worlds import ITEMS, ratings, silo

WORKING = {
    "prototypes": 4, "users": 2000, "dimension": 2, "support": "all", "max_ratings": ITEMS, "unrated": "zero",
}  # fmt: skip
FACTORS = FactorSettings(rank=2, rounds=50)


@pytest.mark.parametrize("clustering", ["swap", "lloyd"])
def test_two_messages_carry_the_tastes_over(clustering: str) -> None:
    """A world of two tastes: with epsilon large enough, noisy prototypes predict almost as well as all ratings."""
    silos = [ratings(silo(2000, seed)) for seed in range(3)]
    method = PrivatePrototypes(clustering=clustering, **WORKING)
    up = [PrototypeMessage.from_bytes(method.message(one, 20.0).to_bytes()) for one in silos]
    down = build_model(up, Catalogue(list(range(ITEMS))), FACTORS, 0)
    assert down.statement.private
    assert down.statement.epsilon == pytest.approx(20.0)
    exact = central_factors(silos, FACTORS, 0)
    fresh = ratings([row for row in silo(300, 9) if len(row) > 5])
    errors = {}
    users = np.repeat(np.arange(fresh.n_users), np.diff(fresh.indptr))
    for name, side in (("private", down.item_side), ("central", exact)):
        own = side.fold_in(fresh.indptr, fresh.items, fresh.values)
        errors[name] = rmse(side.predict(own, users, fresh.items), fresh.values)
    middling = rmse(np.full(fresh.n_ratings, fresh.values.mean()), fresh.values)
    assert errors["private"] < 0.5 * middling
    assert errors["central"] <= errors["private"] + 0.05


@pytest.mark.parametrize("users", [0, 1])
@pytest.mark.parametrize("clustering", ["swap", "lloyd"])
def test_a_silo_of_one_user_is_refused(users: int, clustering: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.methods.prototypes.settings._REFUSAL_RISK", 1e-9)
    method = PrivatePrototypes(clustering=clustering, **WORKING)
    with pytest.raises(RatingsInvalid, match="too few users"):
        method.message(ratings(silo(users, 0)), 1.0)


@pytest.mark.parametrize("epsilon", [5.0, 1e-6])
@pytest.mark.parametrize("clustering", ["swap", "lloyd"])
def test_a_refused_silo_owes_the_whole_budget(clustering: str, epsilon: float) -> None:
    """Whether a run goes on after the count depends on the ratings, so no path may be stated as cheaper."""
    method = PrivatePrototypes(clustering=clustering, **{**WORKING, "minimum_users": 1_000_000})
    statement = None
    for _ in range(100):  # at the smaller epsilon the noise passes any limit now and then
        try:
            method.message(ratings(silo(2, 0)), epsilon)
        except TooFewUsers as refusal:
            statement = refusal.statement
    assert statement is not None
    assert statement.epsilon == epsilon
    assert statement.silos is not None
    assert statement.silos.epsilon_in_two > epsilon


def test_the_statement_names_every_release_and_the_whole_epsilon() -> None:
    method = PrivatePrototypes(
        PrototypeSettings.from_preset("swap", **{**WORKING, "support": 3, "trials": 2, "minimum_users": 1})
    )
    message = method.message(ratings(silo(500, 0)), 3.0)
    statement = message.statement
    assert statement.private
    assert (statement.epsilon, statement.delta, statement.model) == (3.0, 0.0, "silos")
    assert {release.name for release in statement.releases} >= {
        "silo count",
        "partition level",
        "values",
        "sizes",
    }
    assert sum(release.epsilon for release in statement.releases) <= 3.0 * (1 + 1e-9)
    table = ShareTable.of(method.settings, ITEMS, 3.0)
    assert table.total() == pytest.approx(3.0)
    assert {name for name, _, _ in table.rows()} >= {"support", "choice among trials", "centre swap"}


def test_left_over_shares_go_to_the_values() -> None:
    method = PrivatePrototypes(
        PrototypeSettings.from_preset("swap", **{**WORKING, "threshold": 1_000_000, "minimum_users": 1})
    )
    message = method.message(ratings(silo(500, 0)), 1.0)
    assert any("only the root cell" in note for note in message.notes)
    assert len(message.values) == 1
    paid = {release.name: release.epsilon for release in message.statement.releases}
    table = ShareTable.of(method.settings, ITEMS, 1.0)
    # One level was visited, two levels and all steps were not.
    assert paid["values"] == pytest.approx(table.values + 2 * table.level + table.steps * table.swap)
    assert sum(release.epsilon for release in message.statement.releases) == pytest.approx(1.0)


def test_printed_constants_are_degenerate_and_say_so() -> None:
    """At a tenth of this epsilon the noisy count of 2,000 users is below 1 in one run of fifteen."""
    message = PrivatePrototypes(
        PrototypeSettings.from_preset("published", users=2000, minimum_users=1)
    ).message(ratings(silo(2000, 1)), 1.0)
    assert any("only the root cell" in note for note in message.notes)
    assert message.statement.epsilon == 1.0


def test_a_fixed_key_is_not_private() -> None:
    silos = ratings(silo(500, 0))
    method = PrivatePrototypes(PrototypeSettings.from_preset("swap", **WORKING))
    one, two = (method.message(silos, 2.0, noise=PureNoise.fixed_key_not_private("k")) for _ in range(2))
    assert not one.statement.private
    assert one.to_bytes() == two.to_bytes()
    assert not state_over_silos([one.statement, method.message(silos, 2.0).statement]).private
    assert method.message(silos, 2.0).to_bytes() != method.message(silos, 2.0).to_bytes()


def test_unsuitable_ratings_and_settings_are_refused() -> None:
    bare = Ratings.from_arrays([0, 1], [0], [1.0], catalogue=None, rating_range=(0.0, 1.0))
    with pytest.raises(CatalogueMissing):
        PrivatePrototypes().message(bare, 1.0)
    negative = Ratings.from_arrays([0, 1], [0], [1.0], catalogue=Catalogue([1]), rating_range=(-1.0, 1.0))
    with pytest.raises(RatingsInvalid, match="shift"):
        PrivatePrototypes().message(negative, 1.0)
    with pytest.raises(SettingsInvalid, match="Known settings"):
        PrivatePrototypes(epsilon=1.0)
